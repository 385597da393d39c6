import JSONSchema
import StrictJSON
import Testing

@Suite struct JSONSchemaTests {
    /// The path and message of the first difference. Nil if the value matches the schema.
    private func offence(_ schema: String, _ value: String) throws -> String? {
        let schema = try JSONSchema(JSONDocument(schema).root)
        let value = try JSONDocument(value).root
        return schema.firstOffence(in: value).map { "\($0.path): \($0.message)" }
    }

    private static let match = #"""
        {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"MatchAttributes.ContentState","type":"object",
         "properties":{"home":{"type":"integer","minimum":0},"away":{"type":"integer","minimum":0},
          "clock":{"type":"string","maxLength":8},"phase":{"enum":["first","second","over"]},
          "scorers":{"type":"array","items":{"$ref":"#/$defs/Player"},"maxItems":2},
          "note":{"anyOf":[{"type":"string"},{"type":"null"}]},"odds":{"type":["number","null"],"format":"double"}},
         "required":["home","away"],"additionalProperties":false,
         "$defs":{"Player":{"type":"object","properties":{"name":{"type":"string","minLength":1},
          "next":{"$ref":"#/$defs/Player"}},"required":["name"]}}}
        """#

    @Test(arguments: [
        #"{"home":0,"away":1}"#, #"{"home":2.0,"away":1e1,"clock":"67:12","phase":"over","note":null,"odds":1.5}"#,
        #"{"home":0,"away":0,"scorers":[{"name":"Ada","more":true,"next":{"name":"Bob"}}],"note":"x","odds":null}"#,
        // The length counts Unicode characters, not bytes.
        #"{"home":0,"away":0,"clock":"ääääääää"}"#,
    ])
    func `a state of the right shape has no offence`(value: String) throws {
        #expect(try offence(Self.match, value) == nil)
    }

    @Test(arguments: [
        ("[]", ": must be an object, not an array"),
        (#"{"home":1}"#, "away: is required"),
        (#"{"home":"1","away":0}"#, "home: must be a whole number, not a string"),
        (#"{"home":1.5,"away":0}"#, "home: must be a whole number, without fraction"),
        (#"{"home":-1,"away":0}"#, "home: must be at least 0"),
        (#"{"home":1,"away":0,"hme":2}"#, "hme: is not known there; did you mean `home`?"),
        (#"{"home":1,"away":0,"clock":"123456789"}"#, "clock: must have at most 8 characters, not 9"),
        (#"{"home":1,"away":0,"phase":"third"}"#, #"phase: must be one of "first", "second", "over""#),
        (
            #"{"home":1,"away":0,"scorers":[{"name":"a"},{"name":""}]}"#,
            "scorers[1].name: must have at least 1 characters, not 0"
        ),
        (#"{"home":1,"away":0,"scorers":[{},{},{}]}"#, "scorers: must have at most 2 items, not 3"),
        (
            #"{"home":1,"away":0,"scorers":[{"name":"a","next":{"name":7}}]}"#,
            "scorers[0].next.name: must be a string, not a number"
        ),
        (#"{"home":1,"away":0,"note":7}"#, "note: must be a string, not a number"),
        (#"{"home":1,"away":0,"odds":"1"}"#, "odds: must be a number or null, not a string"),
        (#"{"home":1,"away":0,"home":2}"#, "home: appears twice in the same object"),
    ])
    func `an offence is named with its place`(value: String, words: String) throws {
        #expect(try offence(Self.match, value) == words)
    }

    @Test(arguments: [
        (#"{"const":1}"#, "1.0", nil), (#"{"const":{"a":[1,null],"b":"é"}}"#, #"{"b":"\u00e9","a":[1.0,null]}"#, nil),
        (#"{"const":9007199254740993}"#, "9007199254740992", ": must be 9007199254740993"),
        (#"{"enum":[true,"true",null]}"#, "1", #": must be one of true, "true", null"#),
        (#"{"type":"string","nullable":true}"#, "null", nil), ("true", "7", nil), ("false", "7", ": must not be there"),
        (#"{"exclusiveMinimum":0,"exclusiveMaximum":1}"#, "0", ": must be above 0"),
        (#"{"exclusiveMinimum":0,"exclusiveMaximum":1}"#, "1", ": must be below 1"),
        (#"{"maximum":0.5}"#, "0.75", ": must be at most 0.5"),
        (#"{"minItems":2,"maxItems":2}"#, "[1]", ": must have 2 items, not 1"),
        (#"{"minItems":1,"maxItems":3}"#, "[]", ": must have 1 to 3 items, not 0"),
        (
            #"{"additionalProperties":{"type":"boolean"}}"#, #"{"a":true,"b":1}"#,
            "b: must be true or false, not a number"
        ),
        (#"{"properties":{"a":false}}"#, #"{"a":1}"#, "a: must not be there"),
        (#"{"allOf":[{"required":["a"]},{"required":["b"]}]}"#, #"{"a":1}"#, "b: is required"),
        (
            #"{"oneOf":[{"minimum":1},{"maximum":5}]}"#, "3",
            ": matches 2 of its schema's alternatives, and must match one"
        ),
        (#"{"oneOf":[{"minimum":1},{"maximum":-5}]}"#, "3", nil),
        (
            #"{"anyOf":[{"type":"string"},{"type":"boolean"}]}"#, "3",
            ": matches none of its schema's 2 alternatives; the first: must be a string, not a number"
        ),
        (
            #"{"anyOf":[{"required":["x"]},{"properties":{"y":{"type":"string"}},"required":["y"]}]}"#, #"{"y":1}"#,
            "x: is required"
        ),
        // Keywords beside $ref count too. A keyword for another type has no effect.
        (
            ##"{"$ref":"#/definitions/n","minimum":2,"definitions":{"n":{"type":"number"}}}"##, "1",
            ": must be at least 2"
        ),
        (#"{"minimum":2,"minLength":2,"required":["a"]}"#, "null", nil),
        (##"{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}}"##, "1", ": must be null, not a number"),
    ])
    func `each keyword has the draft's meaning`(schema: String, value: String, words: String?) throws {
        #expect(try offence(schema, value) == words)
    }

    @Test(arguments: [
        (#"{"type":"text"}"#, "type: must be one of object"), (#"{"type":"interger"}"#, "did you mean `integer`?"),
        (#"{"properties":{"a":{"pattern":"^a$"}}}"#, "properties.a.pattern: is not supported; supported are"),
        (
            #"{"properties":{"a":{"tpye":"string"}}}"#,
            "properties.a.tpye: is not a known key here; did you mean `type`?"
        ),
        (#"{"items":[{}]}"#, "items: must be one schema"), (#"{"required":"a"}"#, "required: must be an array"),
        (##"{"$ref":"https://example.com/x"}"##, "$ref"),
        (##"{"$ref":"#/$defs/Playr","$defs":{"Player":{}}}"##, "did you mean `#/$defs/Player`?"),
        (#"{"minItems":-1}"#, "minItems: must be a whole number of at least 0"),
        (#"{"minItems":3,"maxItems":2}"#, "maxItems: must not be below"),
        (#"{"enum":[]}"#, "enum: must hold at least one value"),
        (#"{"anyOf":[]}"#, "anyOf: must hold at least one schema"), ("7", "must be a schema"),
        (#"{"nullable":true}"#, "nullable: needs a `type`"),
        (#"{"items":{"$defs":{}}}"#, #"items["$defs"]: is supported at the top"#),
        (##"{"$ref":"#"}"##, "leads back to itself"),
        (##"{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}"##, "leads back to itself"),
    ])
    func `what would not be checked is refused when the schema is read`(schema: String, words: String) throws {
        let root = try JSONDocument(schema).root
        let error = #expect(throws: JSONError.self) { try JSONSchema(root) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `long lists of values are compared as far as the budget of steps goes`() throws {
        func schema(references: Int) -> String {
            let list = (1...500).map(String.init).joined(separator: ",")
            let all = Array(repeating: ##"{"$ref":"#/$defs/e"}"##, count: references).joined(separator: ",")
            return ##"{"allOf":[\##(all)],"$defs":{"e":{"enum":[\##(list)]}}}"##
        }
        #expect(try offence(schema(references: 20), "500") == nil)
        // These are 50,000 comparisons in 200 nodes.
        #expect(try offence(schema(references: 100), "500")?.contains("takes too long") == true)
        // One comparison of long values takes more than one step.
        let long = "[" + Array(repeating: "[0]", count: 30_000).joined(separator: ",") + "]"
        #expect(try offence(#"{"enum":[\#(long)]}"#, long)?.contains("takes too long") == true)
    }

    @Test func `a schema that multiplies is given up, not followed for ever`() throws {
        let schema = ##"{"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"$ref":"#"}}]}"##
        let value = String(repeating: "[", count: 60) + "8" + String(repeating: "]", count: 60)
        #expect(try offence(schema, value)?.contains("takes too long") == true)
    }
}
