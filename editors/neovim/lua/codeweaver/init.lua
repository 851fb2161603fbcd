-- Searches code with git-codeweaver, and shows what is found in a picker or in the quickfix list.
--
-- Each function asks the process of the program, which stays, about the repository of the current buffer,
-- without waiting for it, and shows the places of its answer. Works from Neovim 0.7.

local places_of = require("codeweaver.places")
local server = require("codeweaver.server")

local M = {}

local defaults = {
  command = { "git-codeweaver" }, -- the program, and arguments before its own
  limit = 30, -- places that are shown
  telescope = true, -- use Telescope where it is installed
}

M.options = vim.deepcopy(defaults)

-- Changes options; those that are not named have their defaults.
function M.setup(options)
  M.options = vim.tbl_deep_extend("force", defaults, options or {})
end

-- The directory of the current buffer, or else the current one.
local function current_directory()
  local name = vim.api.nvim_buf_get_name(0)
  local folder = name ~= "" and vim.fn.fnamemodify(name, ":p:h") or ""
  return vim.fn.isdirectory(folder) == 1 and folder or vim.fn.getcwd()
end

-- The root of the repository that a directory is in, which the paths of answers are relative to; the
-- directory itself if it is in none, which the answer then says.
local root_of = setmetatable({}, {
  __index = function(known, directory)
    local lines = vim.fn.systemlist({ "git", "-C", directory, "rev-parse", "--show-toplevel" })
    if vim.v.shell_error ~= 0 then
      return directory
    end
    known[directory] = lines[1]
    return lines[1]
  end,
})

-- The root of the repository of the current buffer.
function M.root()
  return root_of[current_directory()]
end

-- The tool and the arguments for a query. One in quotes is a text, and one between slashes a regular
-- expression: all lines with it are listed.
local function call_of(query)
  local text = query:match('^%s*"([^"]+)"%s*$')
  if text then
    return "find_text", { pattern = text, regex = false, max_results = M.options.limit }
  end
  local pattern, flag = query:match("^%s*/(.+)/(i?)%s*$")
  if pattern then
    return "find_text",
      { pattern = pattern, regex = true, ignore_case = flag == "i", max_results = M.options.limit }
  end
  return "find_code", { query = query, explore = false, max_results = M.options.limit }
end

-- Searches in the repository at `root` and calls `done(places, problem, doubt)`; `doubt` says why places may
-- be missing.
function M.find(query, root, done)
  local tool, arguments = call_of(query)
  server.call(M.options.command, root, tool, arguments, function(response, problem)
    if problem then
      return done(nil, problem)
    end
    done(places_of.of_matches(response, root), nil, places_of.doubt(response))
  end)
end

local function open(place)
  vim.cmd("edit " .. vim.fn.fnameescape(place.path))
  pcall(vim.api.nvim_win_set_cursor, 0, { place.line, 0 }) -- the file may be shorter by now
  vim.cmd("normal! zz")
end

local function to_quickfix(title, places)
  local items = {}
  for _, place in ipairs(places) do
    table.insert(items, { filename = place.path, lnum = place.line, text = place.text })
  end
  vim.fn.setqflist({}, " ", { title = title, items = items })
  vim.cmd("copen")
end

local function to_picker(title, places)
  local select_options = {
    prompt = title,
    kind = "codeweaver",
    format_item = function(place)
      return string.format("%s:%d  %s", place.name, place.line, place.text)
    end,
  }
  vim.ui.select(places, select_options, function(place)
    if place then
      open(place)
    end
  end)
end

-- Calls a tool and shows its places. `read` makes them of the response. A single one is opened if
-- `options.open_single` is set.
local function show(title, tool, arguments, read, options)
  options = options or {}
  local root = M.root()
  server.call(M.options.command, root, tool, arguments, function(response, problem)
    if problem then
      return vim.notify("codeweaver: " .. problem, vim.log.levels.ERROR)
    end

    local places, doubt = read(response, root), places_of.doubt(response)
    if #places == 0 then
      local level = doubt and vim.log.levels.WARN or vim.log.levels.INFO
      return vim.notify("codeweaver: " .. places_of.nothing_found(title, response), level)
    elseif doubt then
      vim.notify("codeweaver: " .. doubt, vim.log.levels.WARN)
    end

    if options.quickfix then
      to_quickfix(title, places)
    elseif options.open_single and #places == 1 then
      open(places[1])
    else
      to_picker(title, places)
    end
  end)
end

-- Searches; asks for the query if there is none. With Telescope, results appear as the query is typed.
function M.search(query, options)
  if query and query ~= "" then
    local tool, arguments = call_of(query)
    return show(query, tool, arguments, places_of.of_matches, options)
  end
  local has_telescope, telescope = pcall(require, "telescope")
  if has_telescope and M.options.telescope then
    telescope.load_extension("codeweaver")
    return telescope.extensions.codeweaver.search()
  end
  vim.ui.input({ prompt = "Search code: " }, function(typed)
    if typed and typed ~= "" then
      M.search(typed, options)
    end
  end)
end

-- Finds code that is similar to that at the cursor.
function M.similar(options)
  local file, line = vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1]
  local title = "similar to " .. vim.fn.fnamemodify(file, ":t") .. ":" .. line
  local arguments = { file = file, line = line, max_results = M.options.limit }
  show(title, "find_similar", arguments, places_of.of_matches, options)
end

-- Asks the call graph about a symbol, or about the word below the cursor.
local function show_graph(symbol, direction, read, options)
  if not symbol or symbol == "" then
    symbol = vim.fn.expand("<cword>")
  end
  local arguments = { symbol = symbol, direction = direction, limit = M.options.limit, note_limit = 0 }
  show(direction .. " of " .. symbol, "call_graph", arguments, read, options)
end

-- Finds the callers of a symbol; of the word below the cursor if none is given.
function M.callers(symbol, options)
  show_graph(symbol, "callers", places_of.of_calls, options)
end

-- Goes to the definition of a symbol, or of the word below the cursor; shows all if there are several.
function M.definition(symbol, options)
  options = vim.tbl_extend("keep", { open_single = true }, options or {})
  show_graph(symbol, "definitions", places_of.of_definitions, options)
end

return M
