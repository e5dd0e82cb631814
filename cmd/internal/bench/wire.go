package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// conn is one kept connection to the service. It is lean, because the client
// shares the machine with what it measures.
type conn struct {
	net.Conn
	in     *bufio.Reader
	addr   string
	header string // Of every request.
	buf    bytes.Buffer
}

// dial connects; bearer "" calls without one.
func dial(ctx context.Context, addr, bearer string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	header := ""
	if bearer != "" {
		header = "Authorization: Bearer " + bearer + "\r\n"
	}
	return &conn{Conn: c, addr: addr, header: header}, nil
}

// send writes a request.
func (c *conn) send(method, path string, body []byte) error {
	c.buf.Reset()
	fmt.Fprintf(&c.buf, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", method, path, c.addr, c.header)
	if body != nil {
		fmt.Fprintf(&c.buf, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.buf.WriteString("\r\n")
	c.buf.Write(body)
	if _, err := c.Write(c.buf.Bytes()); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}

// call makes a request and reads its answer.
func (c *conn) call(method, path string, body []byte) (status int, answer []byte, err error) {
	if err := c.send(method, path, body); err != nil {
		return 0, nil, err
	}
	if c.in == nil {
		c.in = bufio.NewReader(c.Conn)
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // Read to its end below.
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	return res.StatusCode, answer, nil
}

// first waits for the first bytes of an answer.
func (c *conn) first(buf []byte) (string, error) {
	n, err := c.Read(buf)
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return string(buf[:n]), nil
}

func (c *conn) close() { _ = c.Close() } // A client that is done.
