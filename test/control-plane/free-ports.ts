import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/**
 * Finds `count` different free loopback ports.
 *
 * They are not reserved: another process may take one before the caller does.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
