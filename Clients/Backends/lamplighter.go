// The calls of a backend, for Go 1.18 or later with the standard library. Copy the file into your module, give it the
// package's name, and leave out main. `go run lamplighter.go token CHANNEL` tries it.
//
//	lamplighter := Lamplighter{URL: url, AppKey: appKey, AppSecret: appSecret, MasterSecret: masterSecret}
//	token, err := lamplighter.Token(ctx, channel)
//	id, err := lamplighter.Publish(ctx, "match-42", map[string]any{"home": 1}, "match-42/7")
//	id, err = lamplighter.End(ctx, "match-42", map[string]any{"home": 1}, "match-42/end")
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal of the gateway, or an answer that is not the gateway's (a 2xx in another form).
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %.1000s", e.Status, e.Text) }

// Lamplighter makes the calls. One value may be used by many goroutines.
type Lamplighter struct {
	URL, AppKey, AppSecret, MasterSecret string
}

// call is one call of the API.
type call struct {
	method, path, secret string
	// The header that names the channel or the push.
	header, text string
	body         []byte
	// How long one attempt takes, and the longest pause between two.
	attempts         int
	timeout, longest time.Duration
}

var (
	// A redirect is an answer like others: the secrets are for this host.
	client    = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	printable = regexp.MustCompile("^[ -~]{1,255}$")
)

// Token is the token that the app of this channel asks for. Check first that the channel is the caller's.
func (l Lamplighter) Token(ctx context.Context, channel string) (string, error) {
	return l.send(ctx, call{
		method: "GET", path: "/api/auth/device?only=reports", secret: l.AppSecret, header: "X-UA-Channel-ID", text: channel,
		// A user waits for a token: five seconds at most.
		attempts: 2, timeout: 2 * time.Second, longest: time.Second,
	})
}

// Publish sends a content state to everybody who follows the name, and returns the push id. The key names this publish:
// a repetition with the same key is sent once.
func (l Lamplighter) Publish(ctx context.Context, name string, contentState any, key string) (string, error) {
	return l.push(ctx, "update", name, contentState, key)
}

// End is Publish with the card's last content state.
func (l Lamplighter) End(ctx context.Context, name string, contentState any, key string) (string, error) {
	return l.push(ctx, "end", name, contentState, key)
}

func (l Lamplighter) push(ctx context.Context, event, name string, contentState any, key string) (string, error) {
	activity := map[string]any{"name": name, "event": event, "content_state": contentState}
	body, err := json.Marshal(map[string]any{
		"audience": "all", "device_types": []string{"ios"},
		"notification": map[string]any{"ios": map[string]any{"live_activity": activity}},
	})
	if err != nil {
		return "", err
	}
	return l.send(ctx, call{
		method: "POST", path: "/api/push", secret: l.MasterSecret, header: "Idempotency-Key", text: key, body: body,
		attempts: 6, timeout: 30 * time.Second, longest: time.Minute,
	})
}

// send repeats a 408, 429, 5xx, a broken connection, and a 2xx that is not the gateway's.
func (l Lamplighter) send(ctx context.Context, call call) (string, error) {
	if !printable.MatchString(call.text) {
		return "", fmt.Errorf("key or channel must be 1 to 255 printable ASCII characters, not %q", call.text)
	}
	for attempt := 1; ; attempt++ {
		result, status, asked, err := l.attempt(ctx, call)
		isFinal := status != 0 && status/100 != 2 && status < 500 && status != 408 && status != 429
		if err == nil || isFinal || attempt == call.attempts {
			return result, err
		}
		pause := time.Duration((0.5 + rand.Float64()/2) * float64(time.Second) * float64(int(1)<<(attempt-1)))
		if asked > pause {
			pause = asked
		}
		if pause > call.longest {
			pause = call.longest
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (l Lamplighter) attempt(ctx context.Context, call call) (string, int, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, call.timeout)
	defer cancel()
	url := strings.TrimRight(l.URL, "/") + call.path
	request, err := http.NewRequestWithContext(ctx, call.method, url, bytes.NewReader(call.body))
	if err != nil {
		return "", 0, 0, err
	}
	request.SetBasicAuth(l.AppKey, call.secret)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(call.header, call.text)
	response, err := client.Do(request)
	if err != nil {
		return "", 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0, 0, err
	}
	var answer struct {
		Token   string
		PushIDs []string `json:"push_ids"`
	}
	isGateway := json.Unmarshal(text, &answer) == nil && response.StatusCode/100 == 2
	if results := append(answer.PushIDs, answer.Token); isGateway && results[0] != "" {
		return results[0], response.StatusCode, 0, nil
	}
	return "", response.StatusCode, seconds(response.Header.Get("Retry-After")), &Error{response.StatusCode, string(text)}
}

// seconds reads `Retry-After`, a number or a date. A proxy may send anything, also more than a Duration can hold.
func seconds(text string) time.Duration {
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	if number, _ := strconv.ParseFloat(text, 64); number > 0 {
		return time.Duration(math.Min(number, 3600) * float64(time.Second))
	}
	return 0
}

func main() {
	lamplighter := Lamplighter{
		URL: os.Getenv("LAMPLIGHTER_GATEWAY_URL"), AppKey: os.Getenv("LAMPLIGHTER_APP_KEY"),
		AppSecret: os.Getenv("LAMPLIGHTER_APP_SECRET"), MasterSecret: os.Getenv("LAMPLIGHTER_APP_MASTER_SECRET"),
	}
	calls := map[string]func(context.Context, string, any, string) (string, error){
		"publish": lamplighter.Publish, "end": lamplighter.End,
	}
	var result string
	var err error
	arguments := os.Args[1:]
	if call := calls[arguments[0]]; call != nil {
		result, err = call(context.Background(), arguments[1], json.RawMessage(arguments[2]), arguments[3])
	} else {
		result, err = lamplighter.Token(context.Background(), arguments[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(result)
}
