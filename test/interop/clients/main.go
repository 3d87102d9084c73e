// Fetches all URLs at once with net/http; one JSON line per URL.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

type line struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	SHA256 string `json:"sha256"`
}

func fetch(url string) line {
	reply, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		log.Fatal(err)
	}
	sum := sha256.Sum256(body)
	return line{url, reply.StatusCode, hex.EncodeToString(sum[:])}
}

func main() {
	var mutex sync.Mutex
	var all sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	for _, url := range os.Args[1:] {
		all.Add(1)
		go func(url string) {
			defer all.Done()
			result := fetch(url)
			mutex.Lock()
			defer mutex.Unlock()
			if err := out.Encode(result); err != nil {
				log.Fatal(err)
			}
		}(url)
	}
	all.Wait()
}
