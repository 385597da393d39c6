// swift-tools-version: 6.2
// Imports go down one way; `--explicit-target-dependency-import-check error` (bin/test) proves it.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md
    .treatAllWarnings(as: .error),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

// The features: each is a folder of Sources/Features and one of Tests/Features. A subfolder is compiled into the target
// of its name, so a feature is a row here, its folders and its lines in the lists (docs/adr/0059-features.md).
let features: KeyValuePairs = [
    "AirshipSDK": ["Store", "Answers", "HTTPAPI", "HTTPAPITests"],
    "AppAttest": [
        "StoreGround", "Store", "Answers", "HTTPAPI", "Settings", "Commands", "StoreTests", "HTTPAPITests",
        "SettingsTests", "CommandsTests", "EndToEndTests",
    ],
    "Approval": [
        "StoreGround", "Store", "Answers", "HTTPAPI", "Console", "Settings", "Commands", "StoreTests", "HTTPAPITests",
        "CommandsTests", "EndToEndTests",
    ],
    "Backup": [
        "StoreGround", "Store", "Commands", "Backup", "StoreTests", "HTTPAPITests", "CommandsTests", "EndToEndTests",
        "BackupTests",
    ],
    "HistoryExport": [
        "StoreDeliveries", "Settings", "Commands", "HistoryExport", "Gzip", "CZlib", "StoreTests",
        "EndToEndTests", "HistoryExportTests", "GzipTests",
    ],
    "Intake": [
        "StoreGround", "Store", "HTTPAPI", "Settings", "Commands", "HTTPAPITests", "SettingsTests", "EndToEndTests",
    ],
    "Numbers": [
        "StoreGround", "Store", "Fanout", "Answers", "Console", "HTTPAPI", "Commands", "StoreTests", "FanoutTests",
        "ConsoleTests", "HTTPAPITests", "EndToEndTests",
    ],
    "OpenID": [
        "StoreGround", "Store", "Console", "HTTPAPI", "Settings", "Commands", "HTTPAPITests", "SettingsTests",
        "CommandsTests",
    ],
    "Simulator": ["Commands"],
    "Sketches": [
        "StoreGround", "Store", "Answers", "Console", "HTTPAPI", "Commands", "ConsoleTests", "HTTPAPITests",
        "EndToEndTests",
    ],
    "TestDevices": [
        "StoreGround", "Store", "Answers", "Console", "HTTPAPI", "Commands", "HTTPAPITests", "EndToEndTests",
    ],
    "Watch": ["Commands", "CommandsTests", "EndToEndTests"],
    "Webhooks": [
        "StoreDeliveries", "Store", "Answers", "Webhooks", "Console", "HTTPAPI", "Settings", "Commands", "StoreTests",
        "WebhooksTests", "FanoutTests", "HTTPAPITests", "SettingsTests", "CommandsTests", "EndToEndTests",
    ],
]
// The targets with a list that names features: Features+TARGET.swift, beside the features.
let listed = [
    "Answers", "StoreDeliveries", "Store", "Fanout", "Console", "HTTPAPI", "Settings", "Commands", "StoreTests",
    "HTTPAPITests", "CommandsTests",
]

let package = Package(
    name: "lamplighter",
    // macOS is named for the tools that read it; Lamplighter runs on Linux. iOS is for LamplighterKit.
    platforms: [.macOS(.v15), .iOS("16.2")],
    products: [
        .executable(name: "lamplighter", targets: ["lamplighter"]),
        // For iOS apps (docs/adr/0049-client-package.md). It depends on nothing, and no target of the server on it.
        .library(name: "LamplighterKit", targets: ["LamplighterKit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C libraries: one system target each, imported by exactly one Swift target.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(
            name: "CZlib", path: "Sources/Features/HistoryExport/CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLinux"),
        // Scripts, templates and assets become Swift source.
        .plugin(name: "EmbeddedText", capability: .buildTool(), path: "Sources/EmbeddedText"),
        .target(name: "Threads", dependencies: ["CLinux"]),
        .target(name: "Redis", dependencies: ["CHiredis", "OpenSSL", "Threads", logging, metrics]),
        .target(name: "Curl", dependencies: ["CCurl", "Threads"]),
        .target(name: "OpenSSL", dependencies: ["COpenSSL"]),
        // The server's end of TLS on NIO, for the gateway and the simulator.
        .target(
            name: "TLSChannel",
            dependencies: [
                "OpenSSL", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ]),
        .target(name: "NGHTTP2", dependencies: ["CNGHTTP2"]),
        .target(name: "YAML", dependencies: ["CYAML"]),
        .target(name: "Gzip", dependencies: ["CZlib"], path: "Sources/Features/HistoryExport/Gzip"),

        // The domain, without I/O.
        .target(name: "StrictJSON"),
        .target(name: "JSONSchema", dependencies: ["StrictJSON"]),
        .target(
            name: "PrometheusText", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")]),
        .target(name: "LiveActivity"),
        // The words between the worker and the sender of a platform.
        .target(name: "Delivery", dependencies: ["LiveActivity", "StrictJSON"]),
        .target(name: "Answers", dependencies: ["LiveActivity", "StrictJSON"]),
        .target(name: "APNsWire", dependencies: ["Delivery", "LiveActivity", "OpenSSL"]),
        .target(name: "FCMWire", dependencies: ["Delivery", "LiveActivity", "StrictJSON"]),

        // What Lamplighter is for.
        // All access to Redis, in four storeys. The others import `Store`, which passes the lower three on.
        .target(
            name: "StoreGround",
            dependencies: ["Redis", "LiveActivity", "OpenSSL", "StrictJSON"],
            plugins: ["EmbeddedText"]
        ),
        .target(
            name: "StoreRegistry", dependencies: ["StoreGround", "Redis", "LiveActivity", "OpenSSL", "StrictJSON"]),
        .target(
            name: "StoreDeliveries",
            dependencies: ["StoreRegistry", "StoreGround", "Redis", "Answers", "LiveActivity", "OpenSSL", "StrictJSON"]),
        .target(
            name: "Store",
            dependencies: [
                "StoreDeliveries", "StoreRegistry", "StoreGround", "Redis", "Answers", "LiveActivity", "OpenSSL",
                "StrictJSON",
            ]),
        // The sender for any platform: pages, connections, deadlines, open requests. A platform's target hands it the
        // rest.
        .target(
            name: "Lanes",
            dependencies: ["Delivery", "LiveActivity", "Curl", "NGHTTP2", "OpenSSL", "Threads", logging, metrics]),
        .target(
            name: "APNsClient",
            dependencies: [
                "APNsWire", "Lanes", "Delivery", "LiveActivity", "StrictJSON", "Curl", "OpenSSL", logging, metrics,
            ]),
        .target(
            name: "FCMClient",
            dependencies: ["Lanes", "Delivery", "LiveActivity", "StrictJSON", "Curl", "OpenSSL", logging]),
        // What a process did for a push, and when, for a collector of OpenTelemetry.
        .target(name: "Spans", dependencies: ["LiveActivity", "Curl", "StrictJSON", logging, metrics, lifecycle]),
        .target(
            name: "Fanout",
            dependencies: [
                "Store", "APNsClient", "APNsWire", "FCMClient", "FCMWire", "Delivery", "Spans", "LiveActivity",
                "StrictJSON",
                "Threads", logging, metrics, lifecycle,
            ]),
        .target(
            name: "Console",
            dependencies: ["Answers", "LiveActivity", "OpenSSL", "StrictJSON"],
            plugins: ["EmbeddedText"]
        ),
        .target(
            name: "HTTPAPI",
            dependencies: [
                "Console", "Store", "Redis", "Curl", "APNsWire", "FCMWire", "Answers", "Spans", "LiveActivity",
                "OpenSSL",
                "StrictJSON",
                "JSONSchema", "PrometheusText", "Threads", "TLSChannel", logging, metrics, lifecycle,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            plugins: ["EmbeddedText"]
        ),
        .target(
            name: "APNsSimulator",
            dependencies: [
                "NGHTTP2", "OpenSSL", "TLSChannel", logging, lifecycle,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),

        .target(
            name: "Backup", dependencies: ["Store", "LiveActivity", "OpenSSL", "StrictJSON"],
            path: "Sources/Features/Backup/Backup"),
        .target(
            name: "HistoryExport",
            dependencies: ["Store", "Answers", "Gzip", "LiveActivity", "StrictJSON", "Threads"],
            path: "Sources/Features/HistoryExport/HistoryExport"),
        .target(
            name: "Webhooks",
            dependencies: [
                "Store", "Delivery", "LiveActivity", "Curl", "OpenSSL", "Threads", logging, metrics, lifecycle,
            ],
            path: "Sources/Features/Webhooks/Webhooks"),

        // The program.
        .target(
            name: "Settings",
            dependencies: [
                "HTTPAPI", "Fanout", "Lanes", "Store", "Redis", "Spans", "Answers", "OpenSSL", "LiveActivity",
                "StrictJSON", "Threads", "YAML",
            ]
        ),
        .target(
            name: "Commands",
            dependencies: [
                "HTTPAPI", "Fanout", "APNsSimulator", "APNsClient", "APNsWire", "FCMClient", "Lanes", "Delivery",
                "Store", "Settings", "Redis", "Curl",
                "Webhooks", "Spans", "OpenSSL", "PrometheusText", "Answers", "LiveActivity", "StrictJSON", "Threads",
                "Backup", "HistoryExport",
                arguments,
                logging, metrics, lifecycle,
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .executableTarget(name: "lamplighter", dependencies: ["Commands", "CThreadSanitizer"]),
        // Empty but in a build for the thread sanitizer, which it shows what a contended Mutex does.
        .target(name: "CThreadSanitizer"),

        // What runs in an app.
        .target(name: "LamplighterKit", resources: [.copy("PrivacyInfo.xcprivacy")]),

        // What bin/bench runs.
        .executableTarget(
            name: "SendBenchmark",
            dependencies: [
                "APNsClient", "APNsSimulator", "APNsWire", "Lanes", "Delivery", "LiveActivity", "OpenSSL", "Redis",
                arguments, logging,
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            path: "Benchmarks/Send"),
        .executableTarget(
            name: "ExpandBenchmark",
            dependencies: [
                "Fanout", "Store", "Redis", "APNsClient", "APNsWire", "Delivery", "LiveActivity", arguments, logging,
            ],
            path: "Benchmarks/Expand"),

        // Tests start real servers; TestSupport runs them.
        .target(
            name: "TestSupport",
            dependencies: ["Redis", "OpenSSL", "CThreadSanitizer", "CSpawn", logging],
            path: "Tests/TestSupport"),
        .target(name: "CSpawn", path: "Tests/CSpawn"),
        // Whole deployments under faults, and a judge: bin/chaos.
        .executableTarget(name: "Chaos", dependencies: ["TestSupport", "Curl", arguments], path: "Tests/Chaos"),
        // An app that a test kills.
        .executableTarget(name: "KitProbe", dependencies: ["LamplighterKit"], path: "Tests/KitProbe"),
        .testTarget(name: "LamplighterKitTests", dependencies: ["LamplighterKit", "TestSupport", "KitProbe"]),
        .testTarget(name: "YAMLTests", dependencies: ["YAML"]),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"]),
        .testTarget(name: "JSONSchemaTests", dependencies: ["JSONSchema", "StrictJSON"]),
        .testTarget(name: "PrometheusTextTests", dependencies: ["PrometheusText", metrics]),
        .testTarget(name: "AnswersTests", dependencies: ["Answers", "LiveActivity", "StrictJSON"]),
        .testTarget(name: "LiveActivityTests", dependencies: ["LiveActivity"]),
        .testTarget(name: "OpenSSLTests", dependencies: ["OpenSSL", "TestSupport"]),
        .testTarget(name: "APNsWireTests", dependencies: ["APNsWire", "Delivery", "LiveActivity"]),
        .testTarget(name: "RedisTests", dependencies: ["Redis", "OpenSSL", "TestSupport", "Threads", logging]),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "Store", "StoreDeliveries", "StoreRegistry", "StoreGround", "Redis", "Answers", "LiveActivity",
                "StrictJSON",
                "TestSupport", logging,
            ]),
        .testTarget(
            name: "BackupTests",
            dependencies: [
                "Backup", "Store", "Redis", "LiveActivity", "OpenSSL", "StrictJSON", "TestSupport", logging,
            ],
            path: "Tests/Features/Backup/BackupTests"),
        .testTarget(name: "GzipTests", dependencies: ["Gzip"], path: "Tests/Features/HistoryExport/GzipTests"),
        .testTarget(
            name: "HistoryExportTests",
            dependencies: [
                "HistoryExport", "Gzip", "Store", "Redis", "LiveActivity", "StrictJSON", "TestSupport", logging,
            ],
            path: "Tests/Features/HistoryExport/HistoryExportTests"),
        .testTarget(
            name: "WebhooksTests", dependencies: ["Webhooks", "Curl", "OpenSSL", "LiveActivity", "TestSupport"],
            path: "Tests/Features/Webhooks/WebhooksTests"),
        .testTarget(
            name: "SpansTests", dependencies: ["Spans", "StrictJSON", "TestSupport", logging]),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Settings", "Lanes", "Fanout", "HTTPAPI", "Answers", "LiveActivity", "Redis", "Store",
                "TestSupport",
            ]),
        .testTarget(
            name: "CommandsTests",
            dependencies: [
                "Commands", "Answers", "StrictJSON", "PrometheusText", "APNsClient", "FCMClient", "Lanes", "Fanout",
                "HTTPAPI",
                "LiveActivity", "Redis",
                "Store", "StoreDeliveries", "StoreGround", "Settings", "OpenSSL", "Backup", "TestSupport", "Threads",
                "Spans", "Webhooks",
                arguments, logging,
            ]),
        .testTarget(
            name: "APNsSimulatorTests",
            dependencies: [
                "APNsSimulator", "Curl", "NGHTTP2", "OpenSSL", "TestSupport", "TLSChannel", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "LanesTests",
            dependencies: [
                "Lanes", "APNsClient", "APNsSimulator", "APNsWire", "FCMClient", "FCMWire", "Delivery", "LiveActivity",
                "Curl",
                "NGHTTP2", "OpenSSL", "TestSupport", "TLSChannel", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "APNsClientTests",
            dependencies: [
                "APNsClient", "Lanes", "APNsSimulator", "APNsWire", "Delivery", "LiveActivity", "Curl", "OpenSSL",
                "TestSupport", "TLSChannel", "Threads", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            // For the shared libraries too, so that a test can move a name to another address.
            linkerSettings: [
                .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=getaddrinfo"], .when(platforms: [.linux]))
            ]
        ),
        .testTarget(
            name: "FCMClientTests",
            dependencies: [
                "FCMClient", "FCMWire", "Lanes", "APNsSimulator", "Delivery", "LiveActivity", "OpenSSL", "StrictJSON",
                "TestSupport", logging,
            ]),
        .testTarget(name: "ConsoleTests", dependencies: ["Console", "Answers", "LiveActivity", "StrictJSON"]),
        .testTarget(
            name: "HTTPAPITests",
            dependencies: [
                "HTTPAPI", "Console", "Store", "Redis", "Answers", "LiveActivity", "OpenSSL", "StrictJSON",
                "JSONSchema", "PrometheusText", "Curl", "Threads",
                "TestSupport", logging, lifecycle, .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "FanoutTests",
            dependencies: [
                "Fanout", "Store", "StoreDeliveries", "StoreRegistry", "StoreGround", "Redis", "APNsClient",
                "APNsSimulator", "APNsWire", "FCMClient", "FCMWire", "Lanes", "Delivery", "Webhooks", "LiveActivity",
                "Spans", "TestSupport", "Threads", logging, lifecycle,
            ]
        ),
        .testTarget(
            name: "BroadcastTests",
            dependencies: [
                "Fanout", "Store", "StoreDeliveries", "Redis", "APNsClient", "APNsSimulator", "APNsWire", "Lanes",
                "Delivery", "LiveActivity", "TestSupport",
                logging,
            ]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "lamplighter", "Store", "LiveActivity", "Redis", "TestSupport", "Curl", "LamplighterKit", "Gzip",
            ]
        ),
    ]
)

// libFuzzer brings a `main` of its own, so only bin/fuzz builds this.
if Context.environment["LAMPLIGHTER_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: ["Commands", "HTTPAPI", "LiveActivity", "NGHTTP2", "Redis", "Settings", "StrictJSON"],
            path: "Tests/Fuzz", exclude: ["Seeds"],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))
}

// A target to which features add files has all of Sources (or Tests) as its folder, and leaves out what is not its own.
// With `sources` in place of `exclude`, SwiftPM would give scripts and templates to the compiler.
for root in ["Sources", "Tests"] {
    let all = package.targets.map { $0.path ?? ($0.type == .test ? "Tests/" : "Sources/") + $0.name }
    let others = root == "Tests" ? ["AndroidClient", "Fuzz", "Scripts", "StandIns", "chaos.md", "servers.md"] : []
    let lists = listed.filter { $0.hasSuffix("Tests") == (root == "Tests") }.map { "Features/Features+\($0).swift" }
    let folders = Set(all.filter { $0.hasPrefix(root) }.map { String($0.split(separator: "/")[1]) } + others)
        .subtracting(["Features"])
    for target in package.targets
    where target.path == nil && (target.type == .test) == (root == "Tests")
        && (listed.contains(target.name) || features.contains { $0.value.contains(target.name) })
    {
        var own = [target.name, "Features/Features+\(target.name).swift"]
        var parts = folders.sorted() + lists
        for (feature, names) in features {
            let inRoot = names.filter { $0.hasSuffix("Tests") == (root == "Tests") }
            if inRoot.contains(target.name) {
                own.append("Features/\(feature)/\(target.name)")
                parts += inRoot.map { "Features/\(feature)/\($0)" }
            } else if !inRoot.isEmpty {
                parts.append("Features/\(feature)")
            }
        }
        (target.path, target.exclude) = (root, parts.filter { !own.contains($0) })
    }
}

// Apps are built on macOS, where the server cannot be. There the package is the kit alone, so that an app resolves none
// of the server's dependencies.
#if os(Linux)
    let isForApps = Context.environment["LAMPLIGHTER_KIT_ALONE"] == "1"
#else
    let isForApps = true
#endif
if isForApps {
    package.dependencies = []
    package.products.removeAll { $0.name != "LamplighterKit" }
    package.targets.removeAll { $0.name != "LamplighterKit" }
}

// A debug build sends to 20,000 phones in seconds (bin/demo) because these targets, which touch each request, are
// optimized in it too. Their assertions stay.
let hot: Set = [
    "APNsClient", "APNsSimulator", "APNsWire", "Curl", "Delivery", "Lanes", "NGHTTP2", "OpenSSL", "TLSChannel",
]
let optimized = SwiftSetting.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))

// The targets are many and small. In a release build a module may take over functions of another one, and make generic
// ones for its own types.
let across = SwiftSetting.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))

for target in package.targets where target.type != .system && target.type != .plugin {
    var settings = hot.contains(target.name) ? strict + [optimized] : strict
    // SwiftPM refuses a dependency that has unsafe flags, and apps depend on the kit.
    if target.name != "LamplighterKit" { settings.append(across) }
    target.swiftSettings = settings
}
