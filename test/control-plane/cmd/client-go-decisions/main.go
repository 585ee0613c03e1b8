// Command client-go-decisions puts histories of a lease to the elector of client-go and prints what it decides.
//
// It reads one history a line and answers each with one line: at every step what tryAcquireOrRenew did, on a clock that the
// history moves, with the real LeaseLock over a stored lease in memory.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"tenure.test/control-plane/internal/peer"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for decoder.More() {
		var steps []step
		if err := decoder.Decode(&steps); err != nil {
			peer.Fatal(err.Error())
		}
		if err := encoder.Encode(decide(steps)); err != nil {
			peer.Fatal(err.Error())
		}
	}
}
