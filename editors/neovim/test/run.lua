-- Test of the plugin in a Neovim without a window: real program, real repository (the current directory), and
-- a stand-in where answers are given. Exits with 1 at the first failure. `python3 editors/test_editors.py`
-- prepares and starts it.

local function wait_for(what, condition)
  if not vim.wait(20000, condition, 20) then
    error("timed out: " .. what)
  end
end

local function same(is, should)
  if not vim.deep_equal(is, should) then
    error("is " .. vim.inspect(is) .. ", should be " .. vim.inspect(should))
  end
end

local root = vim.fn.getcwd()
local asked, notes = nil, {}
vim.ui.select = function(items, options, done)
  asked = { items = items, lines = vim.tbl_map(options.format_item, items) }
  done(items[1])
end
vim.notify = function(message)
  table.insert(notes, message)
end

local function kill(pid, signal)
  vim.loop.kill(pid, signal)
end

local function ask_for_callers()
  asked = nil
  vim.cmd("Codeweaver callers sign_session")
  wait_for("the picker", function()
    return asked
  end)
  assert(asked.lines[1]:match("^src/login.py:%d+  log_in"), asked.lines[1])
  return true
end

local tests = {}

function tests.a_search_opens_the_best_match()
  vim.cmd("Codeweaver search where are session cookies signed")
  wait_for("the picker", function()
    return asked
  end)
  assert(asked.lines[1]:match("^src/session.py:%d+  .*sign_session"), asked.lines[1])
  same(vim.api.nvim_buf_get_name(0), root .. "/src/session.py")
  assert(vim.api.nvim_get_current_line():match("def sign_session"), vim.api.nvim_get_current_line())
end

function tests.a_search_with_a_bang_fills_the_quickfix_list()
  vim.cmd("Codeweaver! search add the prices of a cart")
  wait_for("the list", function()
    return #vim.fn.getqflist() > 0
  end)
  local first = vim.fn.getqflist()[1]
  assert(vim.api.nvim_buf_get_name(first.bufnr):match("cart.py$"))
  same(vim.fn.getqflist({ title = 1 }).title, "add the prices of a cart")
  vim.cmd("cclose")
end

function tests.a_query_in_quotes_or_between_slashes_lists_the_lines()
  for _, query in ipairs({ '"response.cookies"', "/COOKIES\\.\\w+/i" }) do
    asked = nil
    vim.cmd("Codeweaver search " .. query)
    wait_for("the picker", function()
      return asked
    end)
    same(asked.lines, { "src/login.py:6  response.cookies.append(sign_session(user, secret))" })
  end
end

function tests.the_definition_of_the_word_below_the_cursor()
  vim.cmd("edit src/login.py")
  vim.fn.search("append(sign_session")
  vim.fn.search("sign_session")
  vim.cmd("Codeweaver definition")
  wait_for("the file", function()
    return vim.api.nvim_buf_get_name(0) == root .. "/src/session.py"
  end)
  same(vim.api.nvim_win_get_cursor(0)[1], 4)
end

function tests.one_process_answers_everything()
  local server = require("codeweaver.server")
  local pid = ask_for_callers() and server.pid()
  assert(pid, "no process")
  asked = nil
  vim.cmd("Codeweaver search where are session cookies signed")
  vim.cmd("Codeweaver callers sign_token")
  wait_for("both", function()
    return asked and #notes > 0
  end)
  same(server.pid(), pid)
end

function tests.another_repository_is_answered_by_the_same_process()
  ask_for_callers()
  local pid = require("codeweaver.server").pid()
  local other = vim.fn.tempname()
  vim.fn.mkdir(other, "p")
  other = vim.loop.fs_realpath(other)
  vim.fn.writefile({ "def sail():", "    return 1", "", "", "def travel():", "    return sail()" }, other .. "/a.py")
  for _, arguments in ipairs({ { "init", "--quiet" }, { "add", "." }, { "commit", "--quiet", "-m", "first" } }) do
    vim.fn.system(vim.list_extend({ "git", "-C", other, "-c", "user.name=t", "-c", "user.email=t@e" }, arguments))
    same(vim.v.shell_error, 0)
  end

  vim.cmd("edit " .. other .. "/a.py")
  asked = nil
  -- It is small, so the first question indexes it.
  vim.cmd("Codeweaver callers sail")
  wait_for("the picker", function()
    return asked
  end)
  assert(asked.lines[1]:match("^a.py:6  travel"), asked.lines[1])
  same(require("codeweaver.server").pid(), pid)
  vim.cmd("edit " .. root .. "/src/login.py")
end

function tests.a_process_that_was_killed_is_replaced_also_while_it_answers()
  local server = require("codeweaver.server")
  ask_for_callers()
  local first = server.pid()
  kill(first, "sigkill")
  wait_for("its end", function()
    return server.pid() ~= first
  end)
  ask_for_callers()
  local second = server.pid()
  assert(second and second ~= first)

  -- This call is sent to a process that cannot answer.
  kill(second, "sigstop")
  asked = nil
  vim.cmd("Codeweaver callers sign_session")
  vim.wait(50)
  kill(second, "sigkill")
  wait_for("the picker", function()
    return asked
  end)
  assert(asked.lines[1]:match("^src/login.py:%d+  log_in"), asked.lines[1])
  same(notes, {})
end

function tests.a_program_that_always_ends_is_not_started_for_ever()
  require("codeweaver").setup({ command = { "sh", "-c", "echo started >>starts; echo broken >&2; exit 3" } })
  vim.cmd("Codeweaver search cookies")
  wait_for("the message", function()
    return #notes > 0
  end)
  assert(notes[1]:match("ended: broken"), notes[1])
  same(#vim.fn.readfile("starts"), 2)
  vim.fn.delete("starts")
  require("codeweaver").setup()
end

function tests.the_callers_of_the_word_below_the_cursor()
  vim.cmd("edit src/session.py")
  vim.fn.search("def sign_session")
  vim.cmd("normal! w")
  vim.cmd("Codeweaver callers")
  wait_for("the picker", function()
    return asked
  end)
  assert(asked.lines[1]:match("^src/login.py:%d+  log_in"), asked.lines[1])
end

function tests.code_similar_to_that_at_the_cursor()
  vim.cmd("edit src/session.py")
  vim.fn.search("def sign_session")
  vim.cmd("Codeweaver similar")
  wait_for("the picker", function()
    return asked
  end)
  assert(#asked.items > 0)
end

function tests.nothing_found_is_said()
  vim.cmd("Codeweaver callers no_such_name_anywhere")
  wait_for("the message", function()
    return #notes > 0
  end)
end

function tests.nothing_found_in_an_incomplete_answer_proves_nothing()
  vim.cmd("Codeweaver callers close_cart")
  wait_for("the message", function()
    return #notes > 0
  end)
  assert(notes[1]:match("nothing found for callers of close_cart; there may be some"), notes[1])
  same(asked, nil)
end

-- Runs `test` with a program that answers each call with `answer`.
local function with_answer(answer, test)
  vim.env.CODEWEAVER_TEST_ANSWER = vim.fn.json_encode(answer)
  require("codeweaver").setup({ command = { vim.env.CODEWEAVER_TEST_STAND_IN } })
  require("codeweaver.server").stop()
  test()
  require("codeweaver").setup()
end

function tests.an_incomplete_answer_says_so()
  vim.cmd("edit src/login.py")
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  local lacking = "3 files are not in this clone"
  local function note()
    notes = {}
    vim.cmd("Codeweaver similar")
    wait_for("the message", function()
      return #notes > 0
    end)
    return notes[1]
  end

  with_answer({ status = "degraded", matches = {}, warnings = { lacking } }, function()
    same(note(), "codeweaver: nothing found for similar to login.py:1; there may be some: " .. lacking)
    local doubt
    require("codeweaver").find("cookies", root, function(_, _, its_doubt)
      doubt = its_doubt
    end)
    wait_for("the answer", function()
      return doubt
    end)
    same(doubt, lacking)
  end)

  local match = { file = { path = "src/login.py" }, span = { 4, 6 }, content = { title = "log_in" } }
  with_answer({ status = "degraded", matches = { match }, warnings = { lacking } }, function()
    same(note(), "codeweaver: " .. lacking)
    same(asked.lines, { "src/login.py:4  log_in" })
  end)
end

function tests.a_process_that_was_stopped_is_not_replaced_for_calls_under_way()
  local server = require("codeweaver.server")
  ask_for_callers()
  local pid = server.pid()
  kill(pid, "sigstop") -- it cannot answer
  vim.cmd("Codeweaver callers sign_session")
  vim.wait(50)
  server.stop()
  kill(pid, "sigkill")
  vim.wait(500)
  same(server.pid(), nil)
  same(notes, { "codeweaver: git-codeweaver was stopped" })
end

function tests.a_line_that_is_no_message_is_shown()
  local script = "echo started >>starts; echo these are no messages; cat >/dev/null"
  require("codeweaver").setup({ command = { "sh", "-c", script } })
  vim.cmd("Codeweaver search cookies")
  wait_for("the message", function()
    return #notes > 0
  end)
  vim.wait(200)
  same(notes, { "codeweaver: sh printed what is no message: these are no messages" })
  same(#vim.fn.readfile("starts"), 1)
  vim.fn.delete("starts")
  require("codeweaver").setup()
end

function tests.a_missing_program_is_said()
  require("codeweaver").setup({ command = { "no-such-program" } })
  vim.cmd("Codeweaver search cookies")
  wait_for("the message", function()
    return #notes > 0
  end)
  assert(notes[1]:match("no%-such%-program cannot be started"), notes[1])
  require("codeweaver").setup()
end

function tests.commands_are_completed()
  same(vim.fn.getcompletion("Codeweaver s", "cmdline"), { "search", "similar" })
  same(vim.fn.getcompletion("Codeweaver d", "cmdline"), { "definition" })
end

function tests.telescope_shows_results_as_the_query_is_typed()
  if not pcall(require, "telescope") then
    io.stdout:write("skipped: Telescope is missing\n")
    return
  end
  vim.cmd("edit src/login.py")
  local picker = require("telescope").load_extension("codeweaver").search({ default_text = "session cookies signed" })
  wait_for("results", function()
    return picker.manager and picker.manager:num_results() > 0
  end)
  same(picker.manager:get_entry(1).filename, root .. "/src/session.py")
  require("telescope.actions").close(picker.prompt_bufnr)
end

local names = vim.tbl_keys(tests)
table.sort(names)
for _, name in ipairs(names) do
  asked, notes = nil, {}
  local passed, problem = xpcall(tests[name], debug.traceback)
  io.stdout:write(passed and "ok      " or "FAILED  ", name, "\n")
  if not passed then
    io.stdout:write(problem, "\n", vim.inspect(notes), "\n")
    vim.cmd("cquit 1")
  end
end
-- `test_editors.py` checks that the process ends with this one.
io.stdout:write("process ", require("codeweaver.server").pid(), "\n")
vim.cmd("qall!")
