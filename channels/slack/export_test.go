package slack

import "time"

// Hurry shortens the wait for the neutral acknowledgement.
func Hurry(c *Channel, neutral time.Duration) { c.neutral = neutral }

// Impatient shortens the time that a connection may be silent.
func Impatient(c *Channel, idle time.Duration) { c.idle = idle }

// Read decodes a payload and reports whether it says anything that concerns us.
func Read(kind string, raw []byte) (bool, error) {
	p, err := readGuarded(kind, raw)
	return p.click != nil || p.dialog != nil || p.command != nil || p.said != nil, err
}
