package callbacks

import "errors"

// The errors of the codec. None repeats a payload.
var (
	// ErrKeys is a set of keys that cannot sign and verify.
	ErrKeys = errors.New("codec keys")
	// ErrUnencodable is an action that no payload can carry.
	ErrUnencodable = errors.New("action cannot be a button")
	// ErrNotOurs is a payload without our prefix: somebody else's business.
	ErrNotOurs = errors.New("payload is not ours")
	// ErrForeign is a payload with our prefix that this installation did not make
	// for this bot, or that was damaged or forged.
	ErrForeign = errors.New("payload was made by another installation")
)
