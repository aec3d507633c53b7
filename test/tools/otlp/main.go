// Reads OTLP JSON with OpenTelemetry's own parser and prints a line for each span.
package main

import (
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, resource := range traces.ResourceSpans().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				fmt.Printf("%s|%s|%s|%s|%s|%s|%s|%s|%v\n", service.AsString(), span.TraceID(), span.SpanID(), span.ParentSpanID(), span.Name(),
					span.Kind(), span.EndTimestamp().AsTime().Sub(span.StartTimestamp().AsTime()), span.Status().Code(), span.Attributes().AsRaw())
			}
		}
	}
}
