# Sends requests with Net::HTTP: requests.rb BASE…
require 'net/http'
require 'stringio'
require 'uri'

proxy = ENV['PROXY'].to_s.empty? ? nil : URI(ENV['PROXY'])

ARGV.each do |base|
  uri = URI(base)
  http = Net::HTTP.new(uri.host, uri.port, proxy&.host, proxy&.port)
  if uri.scheme == 'https'
    http.use_ssl = true
    http.ca_file = ENV['SSL_CERT_FILE']
  end
  http.start do
    http.get('/get?q=1', 'X-Own' => '1').value
    http.post('/form', 'a=1', 'Content-Type' => 'text/plain').value
    put = Net::HTTP::Put.new('/chunked', 'Transfer-Encoding' => 'chunked')
    put.body_stream = StringIO.new('onetwo')
    http.request(put).value
  end
end
