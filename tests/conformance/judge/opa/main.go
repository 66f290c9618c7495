// Program opa-judge answers questions about Rego with the pinned Open Policy Agent, one JSON line in, one
// JSON line out, in order.
//
// It is the other side of tests/conformance: it knows nothing about our engine, and decides nothing. The
// questions are listed in answer.go; how values are written is in value.go.
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
		fmt.Fprintln(os.Stderr, "opa-judge:", err)
		os.Exit(1)
	}
}

// serve answers until the input ends. The answers are flushed whenever no further question is waiting, so
// that a caller may send many questions ahead of reading.
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

// reply answers one question. A question that cannot be read is an answer too, never the end of the judge.
func reply(judge *judge, line []byte, writer *bufio.Writer) error {
	var question question
	var answer any
	if err := json.Unmarshal(line, &question); err != nil {
		answer = failure{Fault: fault{Code: "bad_question", Message: err.Error()}}
	} else {
		answer = judge.answer(question)
	}
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answer)
}
