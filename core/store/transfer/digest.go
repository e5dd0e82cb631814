package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// sum is the content of a table: how many rows it has, and their digests added up.
// It does not depend on the order in which rows are read, which is another one in
// every database. The zero sum is an empty table.
type sum struct {
	rows  int64
	total [sha256.Size / 8]uint64 // The sum modulo 2^256, least significant word first.
}

// add counts a row. Two rows differ in their digests where they differ in a value,
// its type, or the column that it stands in.
func (s *sum) add(row []any) error {
	encoded, err := encode(row)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(encoded)
	s.rows++
	var carry uint64
	for i := range s.total {
		s.total[i], carry = bits.Add64(s.total[i], binary.LittleEndian.Uint64(digest[i*8:]), carry)
	}
	return nil
}

// digest is the sum as text.
func (s *sum) digest() string {
	var b [sha256.Size]byte
	for i, word := range s.total {
		binary.LittleEndian.PutUint64(b[i*8:], word)
	}
	return hex.EncodeToString(b[:])
}

// encode is the one form of a row: for each value its type, and its length where the
// type does not say it.
func encode(row []any) ([]byte, error) {
	var b []byte
	for _, value := range row {
		switch v := value.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
		case string:
			b = append(binary.AppendUvarint(append(b, 't'), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(append(b, 'b'), uint64(len(v))), v...)
		default:
			return nil, fmt.Errorf("encode row: a value is a %T", value)
		}
	}
	return b, nil
}
