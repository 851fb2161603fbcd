-- Search in Telescope: results and a preview as the query is typed. `:Telescope codeweaver search`.

local channel = require("plenary.async.control").channel
local finders = require("telescope.finders")
local pickers = require("telescope.pickers")
local sorters = require("telescope.sorters")
local configuration = require("telescope.config").values

local codeweaver = require("codeweaver")

local function entry_of(place)
  return {
    value = place,
    display = string.format("%s:%d  %s", place.name, place.line, place.text),
    ordinal = place.name,
    filename = place.path,
    lnum = place.line,
    col = 1,
  }
end

local function search(options)
  options = options or {}
  local root = codeweaver.root()
  local last_doubt = nil

  -- Runs in a coroutine of Telescope, which goes on when the answer is there.
  local function find(prompt)
    if not prompt or vim.trim(prompt) == "" then
      return {}
    end
    local send, receive = channel.oneshot()
    codeweaver.find(prompt, root, function(places, problem, doubt)
      if problem then
        vim.notify("codeweaver: " .. problem, vim.log.levels.ERROR)
      elseif doubt and doubt ~= last_doubt then
        vim.notify("codeweaver: " .. doubt, vim.log.levels.WARN)
      end
      last_doubt = doubt -- said once, not with every letter
      send(places or {})
    end)
    return receive()
  end

  local picker = pickers.new(options, {
    prompt_title = "Search code",
    finder = finders.new_dynamic({ fn = find, entry_maker = entry_of }),
    previewer = configuration.grep_previewer(options),
    sorter = sorters.highlighter_only(options), -- the order is the program's
  })
  picker:find()
  return picker
end

return require("telescope").register_extension({ exports = { search = search, codeweaver = search } })
