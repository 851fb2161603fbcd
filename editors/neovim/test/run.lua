-- Test of the plugin in a Neovim without a window: real program, real repository (the current directory). Exits with 1
-- at the first failure. `python3 editors/test_editors.py` prepares and starts it.

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
  same(picker.manager:get_entry(1).filename, "session.py")
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
vim.cmd("qall!")
