-- Requests prepared and signed in a file, each with its length before it; what came of them as one line of JSON.

function init(args)
  file = io.open(os.getenv("FEED"), "rb")
end

function request()
  local length = file:read("*l")
  if not length then
    if not os.getenv("AGAIN") then os.exit(3) end  -- all are sent: the run is void
    file:seek("set", 0)
    length = file:read("*l")
  end
  return file:read(tonumber(length))
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answered":%d,"seconds":%.6f,"bad":%d,"p50_ms":%.4f,"p95_ms":%.4f,"p99_ms":%.4f}\n',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3))
end
