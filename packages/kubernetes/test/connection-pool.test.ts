import { once } from 'node:events'
import { Agent } from 'node:http'
import https from 'node:https'
import { Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { ConnectionPool } from '../src/client/connection-pool.ts'
import type { ConnectionSettings } from '../src/client/connection-settings.ts'

const KEPT_ALIVE = { keepAlive: true, keepAliveMsecs: 1000, maxFreeSockets: 32, maxSockets: 32 }

function settingsOf(change: Partial<ConnectionSettings> = {}): ConnectionSettings {
  return {
    server: new URL('https://one:6443'),
    headers: {},
    auth: undefined,
    tls: { servername: 'two' },
    proxyUrl: undefined,
    proxyAgent: undefined,
    view: () => {
      throw new Error('unused')
    },
    issued: undefined,
    ...change,
  }
}

const OTHER = settingsOf({ tls: { servername: 'three' } })

/** A connection that an agent holds, in use or idle. */
function held(agent: Agent, where: 'sockets' | 'freeSockets'): Socket {
  const socket = new Socket()
  Object.assign(agent[where], { origin: [...(agent[where]['origin'] ?? []), socket] })
  return socket
}

describe('the connections of a transport', () => {
  test('are kept alive, with the TLS material of the settings', () => {
    const { agent } = new ConnectionPool().acquire(settingsOf())
    expect(agent).toBeInstanceOf(https.Agent)
    expect(agent).toMatchObject({ ...KEPT_ALIVE, options: { noDelay: true, servername: 'two' } })
    expect(agent).toHaveProperty('options.secureContext.context')
  })

  test('are plain for plain HTTP', () => {
    const { agent } = new ConnectionPool().acquire(settingsOf({ server: new URL('http://localhost:1'), tls: {} }))
    expect(agent).not.toBeInstanceOf(https.Agent)
    expect(agent).toMatchObject({ ...KEPT_ALIVE, options: { noDelay: true } })
  })

  test('are those of the agent for a proxy, which keeps them alive', () => {
    const proxyAgent = new Agent()
    const { agent } = new ConnectionPool().acquire(settingsOf({ proxyUrl: 'http://p', proxyAgent }))
    expect(agent).toBe(proxyAgent)
    expect(agent).toMatchObject(KEPT_ALIVE)
  })

  test('are shared while the settings stay the same, and retired when they change', () => {
    const pool = new ConnectionPool()
    const [first, same] = [pool.acquire(settingsOf()), pool.acquire(settingsOf({ headers: { a: 'b' } }))]
    expect(same.agent).toBe(first.agent)
    const destroyed = vi.spyOn(first.agent, 'destroy')
    const second = pool.acquire(OTHER)
    expect(second.agent).not.toBe(first.agent)
    const kept = vi.spyOn(second.agent, 'destroy')
    first.release('sound')
    expect(destroyed).not.toHaveBeenCalled()
    same.release('sound')
    expect(destroyed).toHaveBeenCalledOnce()
    second.release('sound')
    pool.acquire(OTHER).release('sound')
    expect([destroyed.mock.calls.length, kept.mock.calls.length]).toEqual([1, 0])
  })

  test('are destroyed at once where nobody uses them when the settings change', () => {
    const pool = new ConnectionPool()
    const first = pool.acquire(settingsOf())
    const destroyed = vi.spyOn(first.agent, 'destroy')
    first.release('sound')
    expect(destroyed).not.toHaveBeenCalled()
    pool.acquire(OTHER)
    expect(destroyed).toHaveBeenCalledOnce()
  })

  test('that are idle are destroyed with a broken one, and with a sound one they are not', () => {
    const pool = new ConnectionPool()
    const [one, two] = [pool.acquire(settingsOf()), pool.acquire(settingsOf())]
    const [idle, used] = [held(one.agent, 'freeSockets'), held(one.agent, 'sockets')]
    Object.assign(one.agent.freeSockets, { gone: undefined })
    one.release('sound')
    expect([idle.destroyed, used.destroyed]).toEqual([false, false])
    two.release('broken')
    expect([idle.destroyed, used.destroyed]).toEqual([true, false])
    used.destroy()
  })

  test('are probed by the kernel after a second, from the first request on', () => {
    const pool = new ConnectionPool()
    const one = pool.acquire(settingsOf())
    const socket = new Socket()
    const keepAlive = vi.spyOn(socket, 'setKeepAlive')
    one.track(socket)
    one.track(socket)
    expect(keepAlive).toHaveBeenCalledExactlyOnceWith(true, 1000)
    socket.destroy()
  })

  test('are all closed when the close resolves: those in use, idle, retired and tracked', async () => {
    const pool = new ConnectionPool()
    const [first, second] = [pool.acquire(settingsOf()), pool.acquire(OTHER)]
    const sockets = [first.agent, second.agent].flatMap((agent) => [held(agent, 'sockets'), held(agent, 'freeSockets')])
    for (const socket of sockets) {
      const destroy = socket.destroy.bind(socket)
      // They close later than the other one.
      socket.destroy = () => {
        setImmediate(destroy)
        return socket
      }
    }
    const [tracked, closed] = [new Socket(), new Socket()]
    second.track(tracked)
    closed.destroy()
    await new Promise((resolve) => closed.once('close', resolve))
    second.track(closed)
    const destroyed = [first.agent, second.agent].map((agent) => vi.spyOn(agent, 'destroy'))
    await pool.close()
    expect([...sockets, tracked].map((socket) => socket.closed)).toEqual(Array(5).fill(true))
    expect(destroyed.map((spy) => spy.mock.calls.length)).toEqual([1, 1])
  })

  test('are forgotten once they are closed', async () => {
    const pool = new ConnectionPool()
    const socket = new Socket()
    pool.acquire(settingsOf()).track(socket)
    await once(socket.destroy(), 'close')
    Object.defineProperty(socket, 'closed', { get: () => expect.fail('the pool still has it') })
    await pool.close()
  })

  test('need no close where there were none', async () => {
    await expect(new ConnectionPool().close()).resolves.toBeUndefined()
  })
})
