import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { sameConnection, type ConnectionSettings } from './connection-settings.ts'

/** How long a connection is idle before the kernel probes it. Ten unanswered probes, one per second, close it. */
const TCP_KEEP_ALIVE_MS = 1000

/** The maximum number of idle connections. The server closes a connection that stays idle. */
const MAX_IDLE_SOCKETS = 32

/** The maximum number of connections. */
const MAX_SOCKETS = 32

/** The connections for one request. Released when the request ends. */
export interface PooledAgent {
  readonly agent: http.Agent
  /** Registers the connection of the request, so that {@link ConnectionPool.close} can wait for it. */
  track(socket: Socket): void
  /** A broken connection also destroys the idle ones: they share its network path. */
  release(connection: 'sound' | 'broken'): void
}

interface Generation {
  readonly settings: ConnectionSettings
  readonly agent: http.Agent
  users: number
}

/**
 * The kept-alive connections of one transport, shared with nobody.
 *
 * Connections use the TLS material of the settings. When that changes, new requests get new connections. The old ones close when their
 * last request ends.
 */
export class ConnectionPool {
  #current: Generation | undefined
  readonly #retired = new Set<Generation>()
  readonly #sockets = new Set<Socket>()

  /** The connections for these settings. @throws TypeError, Error of OpenSSL if a certificate cannot be read */
  acquire(settings: ConnectionSettings): PooledAgent {
    const generation = this.#generationFor(settings)
    generation.users++
    return {
      agent: generation.agent,
      track: (socket) => this.#track(socket),
      release: (connection) => {
        generation.users--
        if (connection === 'broken') destroyIdle(generation.agent)
        this.#sweep()
      },
    }
  }

  /** Destroys every connection, also those in use, and resolves when they are closed. */
  async close(): Promise<void> {
    const generations = [...this.#retired, ...(this.#current === undefined ? [] : [this.#current])]
    for (const { agent } of generations) {
      for (const socket of [...socketsOf(agent.sockets), ...socketsOf(agent.freeSockets)]) this.#track(socket)
      agent.destroy()
    }
    await Promise.all([...this.#sockets].map(gone))
  }

  #generationFor(settings: ConnectionSettings): Generation {
    if (this.#current !== undefined && sameConnection(this.#current.settings, settings)) return this.#current
    const next = { settings, agent: createAgent(settings), users: 0 }
    if (this.#current !== undefined) this.#retired.add(this.#current)
    this.#current = next
    this.#sweep()
    return this.#current
  }

  #sweep(): void {
    for (const generation of this.#retired) {
      if (generation.users > 0) continue
      generation.agent.destroy()
      this.#retired.delete(generation)
    }
  }

  #track(socket: Socket): void {
    if (this.#sockets.has(socket) || socket.closed) return
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

function createAgent(settings: ConnectionSettings): http.Agent {
  if (settings.proxyAgent !== undefined) return keptAlive(settings.proxyAgent)
  const options = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxFreeSockets: MAX_IDLE_SOCKETS,
    maxSockets: MAX_SOCKETS,
    noDelay: true,
  }
  return settings.server.protocol === 'http:'
    ? new http.Agent(options)
    : new SingleServerAgent({ ...options, ...settings.tls, secureContext: createSecureContext(settings.tls) })
}

/**
 * Node computes the name of a connection pool several times per request, from all TLS options. Here, one name is enough. Without
 * `secureContext` it also reads the certificates again for every connection.
 */
class SingleServerAgent extends https.Agent {
  override getName(): string {
    return 'one server, one set of credentials'
  }
}

/** client-node creates proxy agents without keep-alive. Node reads the switch on every request. */
function keptAlive(agent: http.Agent): http.Agent {
  return Object.assign(agent, {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxFreeSockets: MAX_IDLE_SOCKETS,
    maxSockets: MAX_SOCKETS,
  })
}

function destroyIdle(agent: http.Agent): void {
  for (const socket of socketsOf(agent.freeSockets)) socket.destroy()
}

function socketsOf(byOrigin: http.Agent['sockets']): Socket[] {
  return Object.values(byOrigin).flatMap((sockets) => sockets ?? [])
}

async function gone(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => socket.once('close', () => resolve()).destroy())
}
