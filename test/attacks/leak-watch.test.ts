import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setDefaultHighWaterMark, getDefaultHighWaterMark } from 'node:stream'
import { promisify } from 'node:util'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import { Controller, type Term } from '@tenure/core'
import { expectNoLeaks, LeakError, watchForLeaks } from '@tenure/testing/leaks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'

let server: ControlPlane

beforeAll(async () => {
  server = await startControlPlane()
})

afterAll(() => server.stop())

class Working extends Controller {
  override readonly name = 'working'
  readonly #work: () => unknown

  constructor(work: () => unknown) {
    super()
    this.#work = work
  }

  override async run(term: Term): Promise<void> {
    await this.#work()
    await term.every(60_000, () => {})
  }
}

const inTerms = (work: () => unknown) => expectNoLeaks(() => new Working(work), { terms: 2, termMs: 200 })

function kubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromString(server.kubeConfig({ name: 'admin', groups: ['system:masters'] }))
  return config
}

async function leaksOf(work: () => unknown): Promise<LeakError> {
  const leaks = watchForLeaks({ graceMs: 100 })
  await work()
  const error: unknown = await leaks.assertNone().catch((failure: unknown) => failure)
  if (error instanceof LeakError) return error
  throw new Error('Expected leaks to be found', { cause: error })
}

describe('a term that leaves nothing', () => {
  test('passes when it has called plain fetch()', async () => {
    const web = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1')
    await once(web, 'listening')
    const { port } = web.address() as AddressInfo
    await inTerms(async () => (await fetch(`http://127.0.0.1:${port}/`)).text())
    web.closeAllConnections()
    web.close()
  })

  test('passes when it has used a client of client-node without a gate', async () => {
    await inTerms(() => kubeConfig().makeApiClient(CoreV1Api).listNamespace())
  })

  test('passes when it has started and stopped an informer of client-node', async () => {
    await inTerms(async () => {
      const config = kubeConfig()
      const client = config.makeApiClient(CoreV1Api)
      const informer = makeInformer(config, '/api/v1/namespaces', () => client.listNamespace())
      const connected = new Promise<void>((resolve) => informer.on('connect', () => resolve()))
      await informer.start()
      await connected
      await new Promise((resolve) => setTimeout(resolve, 50))
      await informer.stop()
    })
  })

  test('passes when it has set the handler of a signal to null', async () => {
    const { signal } = new AbortController()
    await inTerms(() => {
      Reflect.set(signal, 'onabort', () => {})
      Reflect.set(signal, 'onabort', null)
    })
  })
})

describe('a leak', () => {
  test('is seen in the environment of workers and in the high water mark of streams, with its place', async () => {
    const mark = getDefaultHighWaterMark(false)
    const error = await leaksOf(() => {
      setEnvironmentData('leaked', 'yes')
      setDefaultHighWaterMark(false, 1234)
    })
    setEnvironmentData('leaked', undefined)
    setDefaultHighWaterMark(false, mark)
    expect(error.leaks).toHaveLength(2)
    for (const { site } of error.leaks) expect(site).toContain('leak-watch.test.ts')
    expect(getEnvironmentData('leaked')).toBeUndefined()
  })

  test('is seen in a file left on disk', async () => {
    const path = join(tmpdir(), `leak-watch-${process.pid}`)
    const error = await leaksOf(() => writeFileSync(path, 'left'))
    rmSync(path)
    expect(error.leaks).toMatchObject([{ kind: 'file', detail: path }])
  })

  test('is seen in a process that a child has left behind', async () => {
    let pid = 0
    const error = await leaksOf(async () => {
      const { stdout } = await promisify(execFile)('sh', ['-c', 'sleep 60 >/dev/null 2>&1 & echo $!'])
      pid = Number(stdout)
    })
    process.kill(pid, 'SIGKILL')
    expect(error.leaks.map(({ kind }) => kind)).toEqual(['child-process'])
    expect(error.message).toContain(`pid ${pid}`)
  })

  test('is thrown once, by the innermost of the watches that see it', async () => {
    const outer = watchForLeaks({ graceMs: 50 })
    const timer = setInterval(() => {}, 60_000)
    await expect(inTerms(() => void setInterval(() => {}, 60_000).unref())).rejects.toBeInstanceOf(LeakError)
    clearInterval(timer)
    await outer.assertNone()
  })
})
