// Program gatekeeper-judge answers questions about reviews with Gatekeeper's constraint framework at its pinned
// version, one JSON line in, one JSON line out, in order.
//
// It is the other side of tests/conformance: it knows nothing about our engine, and decides nothing. The
// questions are listed in answer.go. The version of OPA is the one that Gatekeeper requires; opa-judge has the
// newer one.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gatekeeper-judge:", err)
		os.Exit(1)
	}
}

// serve answers until the input ends, and flushes whenever no further question is waiting.
func serve(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	writer := bufio.NewWriterSize(out, 1<<16)
	judge := newJudge()
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if err := reply(judge, line, writer); err != nil {
				return err
			}
		}
		if reader.Buffered() == 0 || err != nil {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func reply(judge *judge, line []byte, writer *bufio.Writer) error {
	var question question
	var answer any
	if err := json.Unmarshal(line, &question); err != nil {
		answer = failure{fault{Code: "bad_question", Message: err.Error()}}
	} else {
		answer = judge.answer(question)
	}
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answer)
}
