package faults

import (
	"bytes"
	"encoding/binary"
)

// batchStatements is how many statements are a write of one round trip: a read has
// one or two.
const batchStatements = 3

// commits reports whether a piece of PostgreSQL's protocol makes the server commit: a
// COMMIT of its own, or a batch that is one transaction.
func commits(piece []byte) bool {
	executes, commit := 0, false
	whole := messages(piece, func(kind byte, body []byte) {
		switch kind {
		case 'Q':
			commit = commit || bytes.EqualFold(bytes.TrimRight(body, "\x00"), []byte("COMMIT"))
		case 'E':
			executes++
		}
	})
	return commit || whole && executes >= batchStatements
}

// committed reports whether a piece is a whole answer of PostgreSQL's that says that
// everything was done, and that no transaction is open any more.
func committed(piece []byte) bool {
	refused, idle := false, false
	whole := messages(piece, func(kind byte, body []byte) {
		refused = refused || kind == 'E'
		idle = kind == 'Z' && bytes.Equal(body, []byte("I"))
	})
	return whole && idle && !refused
}

// messages hands over the messages of a piece, and reports whether it ends with one.
func messages(piece []byte, take func(kind byte, body []byte)) (whole bool) {
	const head = 5
	for len(piece) >= head {
		size := 1 + int(binary.BigEndian.Uint32(piece[1:head]))
		if size < head || size > len(piece) {
			return false // Not at a boundary: it is left alone.
		}
		take(piece[0], piece[head:size])
		piece = piece[size:]
	}
	return len(piece) == 0
}
