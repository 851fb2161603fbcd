-- Searches code with git-codeweaver, and shows what is found in a picker or in the quickfix list.
--
-- Each function runs the program once, in the repository of the current buffer, without waiting for it, and
-- shows its places: tables with `path` (absolute), `line` (from 1) and `text`. Works from Neovim 0.7.

local program = require("codeweaver.program")

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

-- Runs a command and shows its places. `read` makes them of the response.
local function show(title, arguments, read, options)
  program.run(M.options.command, arguments, function(response, problem, root)
    if problem then
      return vim.notify("codeweaver: " .. problem, vim.log.levels.ERROR)
    end
    local places = read(response, root)
    if #places == 0 then
      vim.notify("codeweaver: nothing found for " .. title, vim.log.levels.INFO)
    elseif options and options.quickfix then
      to_quickfix(title, places)
    else
      to_picker(title, places)
    end
  end)
end

-- Searches; asks for the query if there is none. With Telescope, results appear as the query is typed.
function M.search(query, options)
  if query and query ~= "" then
    local arguments = { "search", "-o", "json", "-l", tostring(M.options.limit), "--", query }
    return show(query, arguments, program.places_of_matches, options)
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
  local at = vim.api.nvim_buf_get_name(0) .. ":" .. vim.api.nvim_win_get_cursor(0)[1]
  local arguments = { "similar", "-o", "json", "-l", tostring(M.options.limit), "--", at }
  show("similar to " .. vim.fn.fnamemodify(at, ":t"), arguments, program.places_of_matches, options)
end

-- Finds the callers of a symbol; of the word below the cursor if none is given.
function M.callers(symbol, options)
  if not symbol or symbol == "" then
    symbol = vim.fn.expand("<cword>")
  end
  local arguments = { "graph", "callers", "-o", "json", "-l", tostring(M.options.limit), "--", symbol }
  show("callers of " .. symbol, arguments, program.places_of_calls, options)
end

return M
