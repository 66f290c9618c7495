package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

func valid(err error) (string, error) { return "valid", err }

var calls = map[string]func([]string) (string, error){
	"strconv.Quote":        func(a []string) (string, error) { return strconv.Quote(a[0]), nil },
	"strconv.QuoteToASCII": func(a []string) (string, error) { return strconv.QuoteToASCII(a[0]), nil },
	"strconv.CanBackquote": func(a []string) (string, error) { return fmt.Sprint(strconv.CanBackquote(a[0])), nil },
	"strconv.FormatFloat": func(a []string) (string, error) {
		number, err := strconv.ParseFloat(a[0], 64)
		if err != nil {
			return "", err
		}
		if len(a[1]) != 1 || !strings.Contains("beEfgGxX", a[1]) {
			return "", errors.New("not a format")
		}
		precision, err := strconv.Atoi(a[2])
		return strconv.FormatFloat(number, a[1][0], precision, 64), err
	},
	// The second argument is an int64, the third a string, the fourth a float64.
	"fmt.Sprintf": func(a []string) (string, error) {
		whole, err := strconv.ParseInt(a[1], 10, 64)
		if err != nil {
			return "", err
		}
		number, err := strconv.ParseFloat(a[3], 64)
		return fmt.Sprintf(a[0], whole, a[2], number), err
	},
	"regexp.Compile": func(a []string) (string, error) {
		_, err := regexp.Compile(a[0])
		return valid(err)
	},
	// The text of the error; null for a pattern without one.
	"regexp.Error": func(a []string) (string, error) {
		_, err := regexp.Compile(a[0])
		if err == nil {
			return "", errors.New("none")
		}
		return err.Error(), nil
	},
	"Regexp.Split": func(a []string) (string, error) {
		pattern, err := regexp.Compile(a[0])
		if err != nil {
			return "", err
		}
		return strings.Join(pattern.Split(a[1], -1), "\n"), nil
	},
	"regexp.QuoteMeta": func(a []string) (string, error) { return regexp.QuoteMeta(a[0]), nil },
	"time.ParseDuration": func(a []string) (string, error) {
		duration, err := time.ParseDuration(a[0])
		return duration.String(), err
	},
	"time.Parse": func(a []string) (string, error) {
		instant, err := time.Parse(a[0], a[1])
		_, offset := instant.Zone()
		return fmt.Sprint(instant.Unix(), instant.Nanosecond(), offset), err
	},
	// Seconds since 1970 in UTC, and the layout.
	"Time.Format": func(a []string) (string, error) {
		seconds, err := strconv.ParseInt(a[0], 10, 64)
		return time.Unix(seconds, 0).UTC().Format(a[1]), err
	},
	"net.ParseIP": func(a []string) (string, error) {
		if address := net.ParseIP(a[0]); address != nil {
			return address.String(), nil
		}
		return "", errors.New("not an address")
	},
	"net.ParseCIDR": func(a []string) (string, error) {
		_, network, err := net.ParseCIDR(a[0])
		if err != nil {
			return "", err
		}
		return network.String(), nil
	},
	"filepath.Match": func(a []string) (string, error) {
		matched, err := filepath.Match(a[0], a[1])
		return fmt.Sprint(matched), err
	},
	"netip.ParsePrefix": func(a []string) (string, error) {
		prefix, err := netip.ParsePrefix(a[0])
		return fmt.Sprint(prefix, prefix.Masked()), err
	},
	"url.Parse": func(a []string) (string, error) {
		parsed, err := url.Parse(a[0])
		if err != nil {
			return "", err
		}
		parts := []string{parsed.Scheme, parsed.Opaque, parsed.Hostname(), parsed.Port(), parsed.EscapedPath(),
			parsed.RawQuery, parsed.EscapedFragment()}
		return strings.Join(parts, "\n"), nil
	},
	"url.QueryEscape":   func(a []string) (string, error) { return url.QueryEscape(a[0]), nil },
	"url.QueryUnescape": func(a []string) (string, error) { return url.QueryUnescape(a[0]) },
	"mail.ParseAddress": func(a []string) (string, error) {
		_, err := mail.ParseAddress(a[0])
		return valid(err)
	},
	"json.Unmarshal": func(a []string) (string, error) {
		var value any
		return valid(json.Unmarshal([]byte(a[0]), &value))
	},
	"base64.StdEncoding": func(a []string) (string, error) {
		decoded, err := base64.StdEncoding.DecodeString(a[0])
		return hex.EncodeToString(decoded), err
	},
	// The argument is hexadecimal; the result is what range reads from the bytes.
	"range": func(a []string) (string, error) {
		decoded, err := hex.DecodeString(a[0])
		return string([]rune(string(decoded))), err
	},
	"yaml.YAMLToJSON": func(a []string) (string, error) {
		document, err := yaml.YAMLToJSON([]byte(a[0]))
		return string(document), err
	},
}
