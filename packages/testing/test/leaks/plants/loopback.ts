import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

/** A server of `node:net` or built upon it, listening on a free port of the loopback address. */
export async function listen<T extends Server>(server: T): Promise<T> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** The port of a listening server. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** Resolves when the server is closed. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

/** Resolves when the socket is closed. */
export async function destroy(socket: Socket): Promise<void> {
  if (socket.closed) return
  socket.destroy()
  await once(socket, 'close')
}
