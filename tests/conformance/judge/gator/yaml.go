package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// yamlCommand reads documents as kubectl does: YAML to JSON.
var yamlCommand = &cobra.Command{
	Use:  "yaml",
	RunE: func(*cobra.Command, []string) error { return answer(os.Stdin, os.Stdout) },
}

type question struct {
	Text string `json:"text"`
}

type reply struct {
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

func answer(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	writer := bufio.NewWriterSize(out, 1<<16)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		if err := encoder.Encode(convert(asked.Text)); err != nil {
			return err
		}
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}

func convert(text string) reply {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return reply{Error: err.Error()}
	}
	return reply{JSON: converted}
}
