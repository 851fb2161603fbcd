-- Runs git-codeweaver and reads the JSON that it prints (docs/output.md of the project has its fields).

local M = {}

-- The directory of the current buffer, or else the current one.
function M.directory()
  local name = vim.api.nvim_buf_get_name(0)
  local folder = name ~= "" and vim.fn.fnamemodify(name, ":p:h") or ""
  return vim.fn.isdirectory(folder) == 1 and folder or vim.fn.getcwd()
end

-- The root of the repository that a directory is in, which paths in JSON are relative to.
local function root_of(directory)
  local lines = vim.fn.systemlist({ "git", "-C", directory, "rev-parse", "--show-toplevel" })
  return vim.v.shell_error == 0 and lines[1] or directory
end

-- The text of an error for people: what failed, and how to fix it.
local function problem_of(response, stderr)
  if type(response) == "table" then
    if response.event == "error" then
      return response.what .. (response.why and (": " .. response.why) or "") .. "\n" .. (response.fix or "")
    elseif response.message and not response.matches and not response.edges then
      return response.message .. "\n" .. table.concat(response.hints or {}, "\n")
    end
    return nil
  end
  return stderr ~= "" and stderr or "the program printed nothing"
end

-- Runs the program and calls `done(response, problem, root)` once it has ended. `problem` is nil if it
-- succeeded.
function M.run(command, arguments, done)
  local directory = M.directory()
  local stdout, stderr = {}, {}
  local job_options = {
    cwd = directory,
    stdout_buffered = true,
    stderr_buffered = true,
    on_stdout = function(_, lines)
      stdout = lines
    end,
    on_stderr = function(_, lines)
      stderr = lines
    end,
    on_exit = function()
      local decoded, response = pcall(vim.fn.json_decode, table.concat(stdout, "\n"))
      response = decoded and response or nil
      local problem = problem_of(response, vim.trim(table.concat(stderr, "\n")))
      done(response, problem, root_of(directory))
    end,
  }
  local started, job = pcall(vim.fn.jobstart, vim.list_extend(vim.deepcopy(command), arguments), job_options)
  if not started or job <= 0 then
    done(nil, command[1] .. " cannot be started; is it on the PATH?", directory)
  end
end

-- The places of the matches of `search` and `similar`, best first.
function M.places_of_matches(response, root)
  local places = {}
  for _, match in ipairs(response.matches or {}) do
    local focus = type(match.focus) == "table" and match.focus or {}
    local content = match.content
    local text = type(content.signature) == "string" and content.signature or content.title
    table.insert(places, {
      name = match.file.path,
      path = root .. "/" .. match.file.path,
      line = focus.start_line or match.span[1],
      text = (text or ""):gsub("%s+", " "),
    })
  end
  return places
end

-- The places where calls are written.
function M.places_of_calls(response, root)
  local places = {}
  for _, edge in ipairs(response.edges or {}) do
    for _, site in ipairs(edge.sites or {}) do
      table.insert(places, {
        name = site.file,
        path = root .. "/" .. site.file,
        line = site.startLine,
        text = edge.srcSymbolId:gsub("^.*#", "") .. " (" .. edge.grade .. ")",
      })
    end
  end
  return places
end

return M
