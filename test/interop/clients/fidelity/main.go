// Sends requests with net/http: main BASE…
package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
)

func main() {
	pem, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	// An own TLS configuration also keeps the client at HTTP/1.1.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	if proxy := os.Getenv("PROXY"); proxy != "" {
		// The environment's proxy is never used for loopback.
		address, err := url.Parse(proxy)
		if err != nil {
			log.Fatal(err)
		}
		transport.Proxy = http.ProxyURL(address)
	}
	client := &http.Client{Transport: transport}
	for _, base := range os.Args[1:] {
		send(client, "GET", base+"/get?q=1", nil)
		send(client, "POST", base+"/form", strings.NewReader("a=1"))
		send(client, "PUT", base+"/chunked", io.MultiReader(strings.NewReader("one"), strings.NewReader("two")))
		trailers(client, base+"/trailers")
	}
}

func send(client *http.Client, method, url string, body io.Reader) {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		log.Fatal(err)
	}
	do(client, request)
}

func trailers(client *http.Client, url string) {
	request, err := http.NewRequest("POST", url, io.MultiReader(strings.NewReader("one")))
	if err != nil {
		log.Fatal(err)
	}
	request.Trailer = http.Header{"X-Sum": []string{"1"}}
	do(client, request)
}

func do(client *http.Client, request *http.Request) {
	reply, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		log.Fatal(err)
	}
}
