// Command prometheus stores scrapes and evaluates queries, with Prometheus' own parser, storage and engine.
//
// It reads one JSON document {scrapes, queries} from standard input, and writes one answer for each query.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// scrape is an answer of a target at some second, and the labels that Prometheus gives to its series.
type scrape struct {
	At          int64             `json:"at"`
	Labels      map[string]string `json:"labels"`
	ContentType string            `json:"contentType"`
	Body        string            `json:"body"`
}

type query struct {
	At   int64  `json:"at"`
	Expr string `json:"expr"`
}

type answer struct {
	Error  string   `json:"error,omitempty"`
	Series []series `json:"series"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	// JSON has no NaN.
	Value string `json:"value"`
}

type input struct {
	Scrapes []scrape `json:"scrapes"`
	Queries []query  `json:"queries"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) (err error) {
	var given input
	if err := json.NewDecoder(in).Decode(&given); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	db, err := tsdb.Open(folder, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, scrape := range given.Scrapes {
		if err := store(db, scrape); err != nil {
			return fmt.Errorf("the scrape at %d: %w", scrape.At, err)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	answers := make([]answer, 0, len(given.Queries))
	for _, query := range given.Queries {
		answers = append(answers, ask(engine, db, query))
	}
	return json.NewEncoder(out).Encode(answers)
}

// store reads a scrape as Prometheus does: without a content type, or with an unknown one, it is refused.
func store(db *tsdb.DB, scrape scrape) error {
	parser, err := textparse.New([]byte(scrape.Body), scrape.ContentType, "", false, false, false, labels.NewSymbolTable())
	if err != nil {
		return err
	}
	appender := db.Appender(context.Background())
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return appender.Commit()
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, value := parser.Series()
		var parsed labels.Labels
		parser.Labels(&parsed)
		builder := labels.NewBuilder(parsed)
		for name, value := range scrape.Labels {
			builder.Set(name, value)
		}
		if _, err := appender.Append(0, builder.Labels(), scrape.At*1000, value); err != nil {
			return fmt.Errorf("%s: %w", parsed, err)
		}
	}
}

func ask(engine *promql.Engine, db storage.Queryable, query query) answer {
	asked, err := engine.NewInstantQuery(context.Background(), db, nil, query.Expr, time.Unix(query.At, 0))
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer asked.Close()
	result := asked.Exec(context.Background())
	vector, err := result.Vector()
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := answer{Series: []series{}}
	for _, sample := range vector {
		found.Series = append(found.Series, series{sample.Metric.Map(), fmt.Sprint(sample.F)})
	}
	return found
}
