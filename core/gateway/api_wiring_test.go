package gateway_test

import (
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/presentation"
)

// What the wiring puts behind the edge.
var (
	_ gateway.Service       = (*approvals.Service)(nil)
	_ gateway.People        = (*people.Service)(nil)
	_ gateway.Authenticator = (*people.Service)(nil)
	_                       = gateway.Deps{AgentText: presentation.AgentText}
)
