-- The program as one process that stays while Neovim does: `git-codeweaver mcp` answers calls of tools over
-- stdin and stdout, in JSON-RPC with a message on each line (docs/mcp.md of the project has the tools).

local M = {}

local PROTOCOL = "2025-06-18"
-- Lists for people are limited by their length. This is more than the longest of them needs.
local TOKENS = 100000
-- Bytes of stderr that an error shows.
local MAX_STDERR = 2000
-- Characters of a line that is no message that an error shows.
local MAX_LINE = 200
-- Time that the server may take to ask for the folders of the user.
local FOLDERS_MS = 2000

-- The process for all repositories, or nil.
local process = nil
-- The roots of repositories, in the order in which they were asked about.
local roots = {}

local function send(target, message)
  message.jsonrpc = "2.0"
  -- The channel of a process that has just ended is closed; its exit tells those who wait.
  pcall(vim.fn.chansend, target.job, vim.fn.json_encode(message) .. "\n")
end

-- Sends a request and calls `done(result, problem)` with its answer.
local function request(target, method, params, done)
  target.last_id = target.last_id + 1
  target.waiting[target.last_id] = done
  send(target, { id = target.last_id, method = method, params = params })
end

-- Calls `done` unless it was called before.
local function once(done)
  local is_done = false
  return function(...)
    if not is_done then
      is_done = true
      done(...)
    end
  end
end

local function call_listeners(target)
  local listeners = target.listeners
  target.listeners = {}
  for _, listener in ipairs(listeners) do
    listener()
  end
end

-- Ends what waits for a process, which is not called again. `has_ended` says that the process did so by
-- itself, after which a call may be made again.
local function finish(target, problem, has_ended)
  if target.problem then
    return
  end
  target.problem, target.has_ended = problem, has_ended
  if process == target then
    process = nil
  end

  local waiting = target.waiting
  target.waiting = {}
  for _, done in pairs(waiting) do
    done(nil, problem, has_ended)
  end
  call_listeners(target)
end

-- Answers a request of the server; notifications are ignored.
local function answer(target, message)
  if message.id == nil then
    return
  elseif message.method == "roots/list" then
    local folders = vim.tbl_map(function(root)
      return { uri = vim.uri_from_fname(root) }
    end, roots)
    send(target, { id = message.id, result = { roots = folders } })
    target.is_listed = true
    for _, root in ipairs(roots) do
      target.known[root] = true
    end
    call_listeners(target)
  elseif message.method == "ping" then
    send(target, { id = message.id, result = vim.empty_dict() })
  else
    send(target, { id = message.id, error = { code = -32601, message = message.method .. " is not supported" } })
  end
end

local function receive(target, line)
  if target.problem or vim.trim(line) == "" then
    return
  end
  local decoded, message = pcall(vim.fn.json_decode, line)
  if not decoded or type(message) ~= "table" then
    local start = vim.fn.strcharpart(line, 0, MAX_LINE)
    finish(target, target.command[1] .. " printed what is no message: " .. start)
    vim.fn.jobstop(target.job)
  elseif message.method then
    answer(target, message)
  else
    local done = message.id and target.waiting[message.id]
    if done then
      target.waiting[message.id] = nil
      done(message.result, message.error and message.error.message)
    end
  end
end

-- Starts the program in a directory; nil if it cannot be started.
local function start(command, directory)
  local started = { command = command, waiting = {}, last_id = 0, rest = "", stderr = "", listeners = {} }
  -- Folders that the server may read: that which it was started in, and those that it was told.
  started.known = { [directory] = true }
  local job_options = {
    cwd = directory,
    on_stdout = function(_, parts)
      -- The first part continues the last line, and the last one is not complete.
      parts[1] = started.rest .. parts[1]
      started.rest = table.remove(parts)
      for _, line in ipairs(parts) do
        receive(started, line)
      end
    end,
    on_stderr = function(_, parts)
      started.stderr = (started.stderr .. table.concat(parts, "\n")):sub(-MAX_STDERR)
    end,
    on_exit = function(_, code)
      local why = vim.trim(started.stderr)
      finish(started, command[1] .. " ended: " .. (why ~= "" and why or ("exit code " .. code)), true)
    end,
  }

  local ran, job = pcall(vim.fn.jobstart, vim.list_extend(vim.deepcopy(command), { "mcp" }), job_options)
  if not ran or job <= 0 then
    return nil
  end
  started.job, started.pid = job, vim.fn.jobpid(job)
  return started
end

-- Calls `done(process, problem, has_ended)` once the server knows `root`, one of `roots`, as a folder of the
-- user.
local function introduce(target, root, done)
  local go_on = once(function()
    if target.problem then
      done(nil, target.problem, target.has_ended)
    else
      done(target)
    end
  end)
  if target.known[root] or target.problem then
    return go_on()
  end

  if target.is_listed then
    send(target, { method = "notifications/roots/list_changed" })
  end
  table.insert(target.listeners, go_on)
  vim.defer_fn(go_on, FOLDERS_MS) -- an answer without the folder says how to allow it
end

-- Calls `done(process, problem, has_ended)` with a process that can be called.
local function connect(command, root, done)
  if not vim.tbl_contains(roots, root) then
    table.insert(roots, root)
  end

  if process and not vim.deep_equal(process.command, command) then
    M.stop()
  end
  local target = process
  if target and target.is_ready then
    return introduce(target, root, done)
  elseif target then
    return table.insert(target.starting, { root, done })
  end

  target = start(command, root)
  if not target then
    return done(nil, command[1] .. " cannot be started; is it on the PATH?")
  end
  process = target
  target.starting = { { root, done } }
  local params = {
    protocolVersion = PROTOCOL,
    capabilities = { roots = { listChanged = true } },
    clientInfo = { name = "git-codeweaver for Neovim", version = "0.1.0" },
  }
  request(target, "initialize", params, function(_, problem, has_ended)
    if not problem then
      target.is_ready = true
      send(target, { method = "notifications/initialized" })
    end
    for _, each in ipairs(target.starting) do
      local its_root, its_done = unpack(each)
      if problem then
        its_done(nil, problem, has_ended)
      else
        introduce(target, its_root, its_done)
      end
    end
  end)
end

-- The problem of a result: a text that says why there is no answer, or nil.
local function problem_of(result)
  local content = type(result.structuredContent) == "table" and result.structuredContent or {}
  if not result.isError and result.structuredContent and not content.reason then
    return nil
  end
  local text = content.message or (result.content and result.content[1] or {}).text or "there is no answer"
  return content.status == "not_indexed" and (text .. "\nRun `git codeweaver init` in it.") or text
end

-- Calls a tool for the repository at `root`, and `done(content, problem)` with its structured content. Starts
-- the process if none runs. A tool changes nothing, so it is called once more if the process was killed
-- meanwhile.
function M.call(command, root, tool, arguments, done)
  local all = vim.tbl_extend("force", arguments, { path = root, format = "json", token_limit = TOKENS })

  local function attempt(is_last)
    local function receive_result(result, problem, has_ended)
      if has_ended and not is_last then
        return attempt(true)
      end
      problem = problem or problem_of(result)
      done(not problem and result.structuredContent or nil, problem)
    end

    connect(command, root, function(target, problem, has_ended)
      if not target then
        return receive_result(nil, problem, has_ended)
      end
      request(target, "tools/call", { name = tool, arguments = all }, receive_result)
    end)
  end

  attempt(false)
end

-- The id of the running process, or nil.
function M.pid()
  return process and process.pid
end

-- Ends the process, which Neovim does as well when it exits. Calls under way are not made again.
function M.stop()
  local stopped = process
  if stopped then
    finish(stopped, stopped.command[1] .. " was stopped")
    vim.fn.jobstop(stopped.job)
  end
end

return M
