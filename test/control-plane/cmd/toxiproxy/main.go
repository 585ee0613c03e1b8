// Command toxiproxy is the unchanged toxiproxy server, logging to stderr.
package main

import (
	"flag"
	"os"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

func main() {
	host := flag.String("host", "127.0.0.1", "host on which the HTTP API listens")
	port := flag.String("port", "8474", "port on which the HTTP API listens")
	flag.Parse()

	logger := zerolog.New(os.Stderr).With().Timestamp().Logger()
	toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), logger).Listen(*host, *port)
}
