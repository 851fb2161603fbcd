-- Search in Telescope: results and a preview as the query is typed. `:Telescope codeweaver search`.

local finders = require("telescope.finders")
local make_entry = require("telescope.make_entry")
local pickers = require("telescope.pickers")
local sorters = require("telescope.sorters")
local configuration = require("telescope.config").values

local codeweaver = require("codeweaver")
local program = require("codeweaver.program")

local function search(options)
  options = options or {}
  options.cwd = options.cwd or program.directory()
  local function command_for(prompt)
    if not prompt or prompt == "" then
      return nil
    end
    local arguments = { "search", "--vimgrep", "-l", tostring(codeweaver.options.limit), "--", prompt }
    return vim.list_extend(vim.deepcopy(codeweaver.options.command), arguments)
  end

  local picker = pickers.new(options, {
    prompt_title = "Search code",
    finder = finders.new_job(command_for, make_entry.gen_from_vimgrep(options), codeweaver.options.limit, options.cwd),
    previewer = configuration.grep_previewer(options),
    sorter = sorters.highlighter_only(options), -- the order is the program's
  })
  picker:find()
  return picker
end

return require("telescope").register_extension({ exports = { search = search, codeweaver = search } })
