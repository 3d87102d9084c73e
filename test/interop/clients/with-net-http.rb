# Fetches each URL with Net::HTTP, redirects followed; one JSON line per URL.
require 'digest'
require 'json'
require 'net/http'

def fetch(uri)
  # Ruby 3.1 takes https_proxy into account in URI only, not in Net::HTTP.start.
  reply = Net::HTTP.get_response(uri)
  reply.is_a?(Net::HTTPRedirection) ? fetch(uri + reply['Location']) : reply
end

ARGV.each do |url|
  reply = fetch(URI(url))
  puts JSON.generate({ url: url, status: reply.code.to_i, sha256: Digest::SHA256.hexdigest(reply.body) })
end
