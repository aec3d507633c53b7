// Checks with porcupine whether the history of each object in an API server is linearizable. An object is a register that is
// read, created, deleted, and compared and swapped by its version. The standard input has one operation per line, in JSON.
package main

import (
	"encoding/json"
	"fmt"
	"github.com/anishathalye/porcupine"
	"math"
	"os"
	"slices"
	"time"
)

const unknown = math.MaxInt64 // The time of an answer that did not arrive.

type operation struct {
	Object, Client, Operation string
	Call, Return              int64
	// Without a result, the operation may take effect at any later time, or never.
	Result string
	// The version that the request requires, if it requires one, and that of the answer; 0 if the object is gone.
	Expected, Version int64
	// The object's content, if known.
	Content string
}

// After a change without an answer, the version is unknown, but higher than this one.
type state struct {
	exists, isUnknown bool
	version           int64
	content           string
}

func (s state) mayHave(version int64) bool {
	return s.exists && (s.isUnknown && version > s.version || !s.isUnknown && version == s.version)
}

func done(s state, in operation) (bool, any) {
	after := state{exists: in.Version != 0, version: max(s.version, in.Version), content: in.Content}
	switch in.Operation {
	case "read":
		return s.mayHave(in.Version) && (s.content == "" || s.content == in.Content), after
	case "create":
		return !s.exists && in.Version > s.version, after
	}
	if in.Expected != 0 {
		s = state{exists: s.mayHave(in.Expected), version: in.Expected}
	}
	return s.exists && (in.Version == 0 || in.Version > s.version || s.mayHave(in.Version)), after // Equal without a change.
}

func unanswered(s state, in operation) (bool, any) {
	if s.exists == (in.Operation == "create") || in.Expected != 0 && !s.mayHave(in.Expected) {
		return in.Expected <= s.version, s // Too late for an effect, or too early for the required version.
	}
	return true, state{in.Operation != "delete", true, max(s.version, in.Expected), in.Content}
}

func step(before, input, _ any) (bool, any) {
	s, in := before.(state), input.(operation)
	switch in.Result {
	case "done":
		return done(s, in)
	case "absent":
		return !s.exists, s
	case "conflict":
		isCurrent := !s.isUnknown && s.mayHave(in.Expected)
		return !isCurrent && (s.exists || in.Operation != "create"), s
	default:
		return unanswered(s, in)
	}
}

// An operation without an answer has no effect after an answer with a later version than the required one.
func latestEffect(of operation, history []operation) int64 {
	latest := of.Return
	for _, one := range history {
		if of.Return == unknown && of.Expected != 0 && one.Version > of.Expected {
			latest = min(latest, max(of.Call, one.Return))
		}
	}
	return latest
}

// The longest order of operations that porcupine found, and the first answer that does not fit into it.
func explain(orders [][]int, history []operation) string {
	longest := slices.MaxFunc(append(orders, []int{}), func(a, b []int) int { return len(a) - len(b) })
	first := operation{Return: unknown}
	for index, one := range history {
		if !slices.Contains(longest, index) && one.Return < first.Return {
			first = one
		}
	}
	return fmt.Sprintf("%d of %d operations have an order, but not with %+v", len(longest), len(history), first)
}

func main() {
	histories, failed := map[string][]operation{}, 0
	for lines := json.NewDecoder(os.Stdin); lines.More(); {
		one := operation{Return: unknown}
		if err := lines.Decode(&one); err != nil {
			panic(err)
		}
		histories[one.Object] = append(histories[one.Object], one)
	}
	model := porcupine.Model{Init: func() any { return state{} }, Step: step}
	for object, history := range histories {
		var all []porcupine.Operation
		for _, one := range history {
			all = append(all, porcupine.Operation{Input: one, Call: one.Call, Return: latestEffect(one, history)})
		}
		if result, info := porcupine.CheckOperationsVerbose(model, all, time.Minute); result != porcupine.Ok {
			failed++
			fmt.Printf("%s: %s: %s\n", object, result, explain(info.PartialLinearizations()[0], history))
		}
	}
	fmt.Printf("%d objects, %d not linearizable\n", len(histories), failed)
}
