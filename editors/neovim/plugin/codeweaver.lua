-- :Codeweaver search [QUERY], similar, callers [SYMBOL], definition [SYMBOL]. With `!` the quickfix list is
-- filled.

if vim.g.loaded_codeweaver then
  return
end
vim.g.loaded_codeweaver = true

local commands = { "search", "similar", "callers", "definition" }

local function run(call)
  local name, rest = call.args:match("^(%S+)%s*(.*)$")
  local options = { quickfix = call.bang }
  local codeweaver = require("codeweaver")
  if name == "search" then
    codeweaver.search(rest, options)
  elseif name == "similar" then
    codeweaver.similar(options)
  elseif name == "callers" then
    codeweaver.callers(rest, options)
  elseif name == "definition" then
    codeweaver.definition(rest, options)
  else
    vim.notify("codeweaver: no command is called " .. name, vim.log.levels.ERROR)
  end
end

vim.api.nvim_create_user_command("Codeweaver", run, {
  bang = true,
  nargs = "+",
  desc = "Search code by meaning",
  complete = function(lead, line)
    -- Only the first word is a command.
    if line:match("^%s*Codeweaver!?%s+%S+%s") then
      return {}
    end
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, commands)
  end,
})
