-- Places of answers: tables with `name` (the file, relative to the root), `path` (absolute), `line` (from 1)
-- and `text`.

local M = {}

local function place(root, file, line, text)
  return { name = file, path = root .. "/" .. file, line = line, text = vim.trim((text:gsub("%s+", " "))) }
end

-- The places of a response of `find_code`, `find_similar` or `find_text`, best first.
function M.of_matches(response, root)
  local places = {}
  for _, match in ipairs(response.matches or {}) do
    local focus = type(match.focus) == "table" and match.focus or {}
    local content = match.content
    local text = type(content.signature) == "string" and content.signature or content.title
    table.insert(places, place(root, match.file.path, focus.start_line or match.span[1], text or ""))
  end
  for _, file in ipairs(response.files or {}) do
    for _, line in ipairs(file.lines) do
      table.insert(places, place(root, file.path, line.line, line.text))
    end
  end
  return places
end

-- The places where calls are written.
function M.of_calls(response, root)
  local places = {}
  for _, edge in ipairs(response.edges or {}) do
    for _, site in ipairs(edge.sites or {}) do
      local text = edge.srcSymbolId:gsub("^.*#", "") .. " (" .. edge.grade .. ")"
      table.insert(places, place(root, site.file, site.startLine, text))
    end
  end
  return places
end

function M.of_definitions(response, root)
  return vim.tbl_map(function(node)
    return place(root, node.file, node.span[1], node.signature ~= "" and node.signature or node.qualifiedName)
  end, response.nodes or {})
end

-- The states of an answer in which places may exist that it does not have.
local INCOMPLETE = { degraded = true, not_found = true, unsupported = true }

-- Why a response may lack places, or nil if it lacks none.
function M.doubt(response)
  local is_covered = not response.coverage or response.coverage.complete
  if is_covered and not INCOMPLETE[response.status] then
    return nil
  end
  local warnings = table.concat(response.warnings or {}, "\n")
  return warnings ~= "" and warnings or "there may be more"
end

-- The message that a response has no places, which proves that there are none only if it is complete.
function M.nothing_found(title, response)
  local warnings = table.concat(response.warnings or {}, "\n")
  return "nothing found for "
    .. title
    .. (M.doubt(response) and "; there may be some" or "")
    .. (warnings ~= "" and ": " .. warnings or "")
end

return M
