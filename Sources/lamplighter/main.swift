print("lamplighter")
