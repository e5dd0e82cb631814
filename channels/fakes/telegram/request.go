package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// maxBody bounds a request, in bytes.
const maxBody = 8 << 20

// request is one call with its parameters, whatever the encoding.
type request struct {
	method string
	values map[string]string // Form: the text. JSON: text of strings, JSON of the rest.
	files  map[string]upload
	json   bool
}

type upload struct {
	name string
	data []byte
}

// parse reads the three encodings of the Bot API. An empty body of any type is a
// call without parameters.
func parse(r *http.Request, method string) (*request, error) {
	q := &request{method: method, values: map[string]string{}, files: map[string]upload{}}
	for k, v := range r.URL.Query() {
		q.values[k] = v[0]
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return nil, fmt.Errorf("read content type: %w", err)
	}
	body := io.LimitReader(r.Body, maxBody)
	switch kind {
	case "multipart/form-data":
		err = q.readMultipart(multipart.NewReader(body, params["boundary"]))
	case "application/json":
		q.json = true
		err = q.readJSON(body)
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
		for k, v := range r.PostForm {
			q.values[k] = v[0]
		}
	}
	return q, err
}

func (q *request) readMultipart(m *multipart.Reader) error {
	for {
		part, err := m.NextPart()
		if errors.Is(err, io.EOF) {
			return nil // Also a body that is entirely empty.
		}
		if err != nil {
			return fmt.Errorf("read part: %w", err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("read part: %w", err)
		}
		if part.FileName() != "" {
			q.files[part.FormName()] = upload{name: part.FileName(), data: data}
			continue
		}
		q.values[part.FormName()] = string(data)
	}
}

func (q *request) readJSON(body io.Reader) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&fields); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read body: %w", err)
	}
	for k, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			q.values[k] = s
			continue
		}
		q.values[k] = string(raw)
	}
	return nil
}

// integer returns the number in the parameter, 0 when it is absent or no number.
func (q *request) integer(name string) int64 {
	n, err := strconv.ParseInt(q.values[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (q *request) boolean(name string) bool { return strings.EqualFold(q.values[name], "true") }

// object decodes a JSON parameter into dst. Absent leaves dst alone.
func (q *request) object(name, what string, dst any) *apiError {
	text, ok := q.values[name]
	if !ok || text == "" {
		return nil
	}
	if text == "null" {
		return badRequest("object expected as " + what)
	}
	if err := json.Unmarshal([]byte(text), dst); err != nil {
		return badRequest("can't parse " + what + " JSON object")
	}
	return nil
}
