import Commands

await Lamplighter.start()
