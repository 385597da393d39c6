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
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal of the gateway.
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Text) }

// Lamplighter makes the calls. One value may be used by many goroutines.
type Lamplighter struct {
	URL, AppKey, AppSecret, MasterSecret string
}

const attempts = 6

var client = &http.Client{Timeout: 30 * time.Second}

// Token is the token that the app of this channel asks for. Check first that the channel is the caller's.
func (l Lamplighter) Token(ctx context.Context, channel string) (string, error) {
	var answer struct{ Token string }
	headers := map[string]string{"X-UA-Channel-ID": channel}
	err := l.call(ctx, "GET", "/api/auth/device?only=reports", l.AppSecret, headers, nil, &answer)
	return answer.Token, err
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
	var answer struct {
		PushIDs []string `json:"push_ids"`
	}
	headers := map[string]string{"Idempotency-Key": key}
	if err := l.call(ctx, "POST", "/api/push", l.MasterSecret, headers, body, &answer); err != nil {
		return "", err
	}
	if len(answer.PushIDs) == 0 {
		return "", fmt.Errorf("no push_ids in the answer")
	}
	return answer.PushIDs[0], nil
}

// call repeats a 408, 429, 5xx and a broken connection, and waits as long as `Retry-After` says.
func (l Lamplighter) call(
	ctx context.Context, method, path, secret string, headers map[string]string, body []byte, answer any,
) error {
	for attempt := 0; ; attempt++ {
		asked, err := l.attempt(ctx, method, path, secret, headers, body, answer)
		refusal, isRefusal := err.(*Error)
		isFinal := isRefusal && refusal.Status < 500 && refusal.Status != 408 && refusal.Status != 429
		if err == nil || isFinal || attempt+1 == attempts {
			return err
		}
		pause := time.Duration((0.5 + rand.Float64()/2) * float64(time.Second) * float64(int(1)<<attempt))
		if asked > pause {
			pause = asked
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (l Lamplighter) attempt(
	ctx context.Context, method, path, secret string, headers map[string]string, body []byte, answer any,
) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(l.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(l.AppKey, secret)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode/100 != 2 {
		seconds, _ := strconv.ParseFloat(response.Header.Get("Retry-After"), 64)
		return time.Duration(seconds * float64(time.Second)), &Error{response.StatusCode, string(text)}
	}
	return 0, json.Unmarshal(text, answer)
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
