package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// texts turns the parameters of the shared statements, "?" and "?1", into those of
// PostgreSQL, once per text.
type texts struct{ known sync.Map }

func (t *texts) of(query string) string {
	if q, ok := t.known.Load(query); ok {
		return q.(string) //nolint:forcetypeassert // Only strings are stored.
	}
	q := rebind(query)
	t.known.Store(query, q)
	return q
}

// rebind numbers plain parameters in their order. The statements hold no question
// mark but parameters: no text literal and no operator has one.
func rebind(query string) string {
	var b strings.Builder
	next := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		b.WriteByte('$')
		if i+1 < len(query) && query[i+1] >= '1' && query[i+1] <= '9' {
			continue
		}
		next++
		b.WriteString(strconv.Itoa(next))
	}
	return b.String()
}
