package dev.lamplighter.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One value of a JSON text. The reader is strict: a text that it takes means the same to every other reader. Each value
 * knows its own text, so a content state reaches the app byte for byte.
 */
final class Json {
    /** The text is no JSON. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1;

        Malformed(String reason, int at) {
            super(reason + " at character " + at);
        }
    }

    /** The gateway has the same limit. It also bounds the reader's stack. */
    static final int DEEPEST = 64;

    /** A Map, a List, a String, a Double, a Boolean, or null. */
    private final Object value;
    private final String source;
    private final int from;
    private final int to;

    private Json(Object value, String source, int from, int to) {
        this.value = value;
        this.source = source;
        this.from = from;
        this.to = to;
    }

    static Json read(String text) throws Malformed {
        return new Reader(text).document();
    }

    /** The value as it was written. */
    String text() {
        return source.substring(from, to);
    }

    boolean isObject() {
        return value instanceof Map;
    }

    /** The member of an object, or null. */
    Json get(String key) {
        return value instanceof Map ? (Json) ((Map<?, ?>) value).get(key) : null;
    }

    /** The elements of a list. Any other value has none. */
    List<Json> elements() {
        List<Json> elements = new ArrayList<>();
        if (value instanceof List) {
            for (Object element : (List<?>) value) elements.add((Json) element);
        }
        return elements;
    }

    /** The string, or null if this is no string. */
    String string() {
        return value instanceof String ? (String) value : null;
    }

    boolean isTrue() {
        return Boolean.TRUE.equals(value);
    }

    /** The whole number, or null if this is none or does not fit. */
    Long whole() {
        if (!(value instanceof Double)) return null;
        try {
            return Long.valueOf(text());
        } catch (NumberFormatException notWhole) {
            return null;
        }
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || isLone(text, i)) {
                // A lone surrogate has no UTF-8, so it stays an escape.
                String hex = Integer.toHexString(c);
                out.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    /** Whether the character is a surrogate without the other half of its pair. */
    static boolean isLone(String text, int at) {
        char c = text.charAt(at);
        if (Character.isHighSurrogate(c)) {
            return at + 1 == text.length() || !Character.isLowSurrogate(text.charAt(at + 1));
        }
        return Character.isLowSurrogate(c) && (at == 0 || !Character.isHighSurrogate(text.charAt(at - 1)));
    }

    private static final class Reader {
        private final String text;
        private int at;

        Reader(String text) {
            this.text = text;
        }

        Json document() throws Malformed {
            Json value = value(0);
            space();
            if (at != text.length()) throw malformed("something follows the value");
            return value;
        }

        private Malformed malformed(String reason) {
            return new Malformed(reason, at);
        }

        private void space() {
            while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
        }

        /** The next character, or 0 at the end. */
        private char next() {
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean take(char c) {
            space();
            if (next() != c) return false;
            at++;
            return true;
        }

        private void expect(char c) throws Malformed {
            if (!take(c)) throw malformed("no '" + c + "'");
        }

        private Json value(int depth) throws Malformed {
            if (depth > DEEPEST) throw malformed("more than " + DEEPEST + " levels");
            space();
            int from = at;
            char c = next();
            Object value;
            if (c == '{') {
                value = object(depth);
            } else if (c == '[') {
                value = list(depth);
            } else if (c == '"') {
                value = string();
            } else if (word("true")) {
                value = Boolean.TRUE;
            } else if (word("false")) {
                value = Boolean.FALSE;
            } else if (word("null")) {
                value = null;
            } else {
                value = number();
            }
            return new Json(value, text, from, at);
        }

        private boolean word(String word) {
            if (!text.startsWith(word, at)) return false;
            at += word.length();
            return true;
        }

        private Map<String, Json> object(int depth) throws Malformed {
            Map<String, Json> members = new LinkedHashMap<>();
            at++;
            if (take('}')) return members;
            do {
                space();
                if (next() != '"') throw malformed("no key");
                String key = string();
                expect(':');
                if (members.containsKey(key)) throw malformed("the key " + key + " twice");
                members.put(key, value(depth + 1));
            } while (take(','));
            expect('}');
            return Collections.unmodifiableMap(members);
        }

        private List<Json> list(int depth) throws Malformed {
            List<Json> elements = new ArrayList<>();
            at++;
            if (take(']')) return elements;
            do {
                elements.add(value(depth + 1));
            } while (take(','));
            expect(']');
            return elements;
        }

        private String string() throws Malformed {
            StringBuilder out = new StringBuilder();
            for (at++; next() != '"'; at++) {
                char c = next();
                if (c < 0x20) throw malformed(at < text.length() ? "a control character" : "a string without an end");
                out.append(c == '\\' ? escape() : c);
            }
            at++;
            String string = out.toString();
            for (int i = 0; i < string.length(); i++) {
                if (isLone(string, i)) throw malformed("half of a character");
            }
            return string;
        }

        /** Leaves `at` at the last character of the escape. */
        private char escape() throws Malformed {
            at++;
            char c = next();
            int known = "\"\\/bfnrt".indexOf(c);
            if (known >= 0 && c != 0) return "\"\\/\b\f\n\r\t".charAt(known);
            if (c != 'u' || at + 4 >= text.length()) throw malformed("an unknown escape");
            int code = 0;
            for (int i = 1; i <= 4; i++) {
                char hex = text.charAt(at + i);
                int digit = hex < 128 ? Character.digit(hex, 16) : -1;
                if (digit < 0) throw malformed("an unknown escape");
                code = code * 16 + digit;
            }
            at += 4;
            return (char) code;
        }

        private Double number() throws Malformed {
            int from = at;
            if (next() == '-') at++;
            if (next() == '0') {
                at++;
            } else {
                digits();
            }
            if (next() == '.') {
                at++;
                digits();
            }
            if (next() == 'e' || next() == 'E') {
                at++;
                if (next() == '+' || next() == '-') at++;
                digits();
            }
            return Double.valueOf(text.substring(from, at));
        }

        private void digits() throws Malformed {
            int from = at;
            while (next() >= '0' && next() <= '9') at++;
            if (at == from) throw malformed("no value");
        }
    }
}
