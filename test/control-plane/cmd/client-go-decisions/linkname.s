// Lets the package declare a function without a body: its body is in client-go.
