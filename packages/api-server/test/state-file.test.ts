import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startApiServer } from '../src/index.ts'
import { StateFileError } from '../src/storage/state-file.ts'
import { leases, TestClient } from './test-client.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-state-file-'))
  file = join(folder, 'state')
})

afterEach(async () => rm(folder, { recursive: true }))

describe('a server with a file', () => {
  it('has its objects, versions and users again after a restart', async () => {
    const first = await startApiServer({ file })
    using client = new TestClient(first)
    await client.send('POST', leases(), { metadata: { name: 'gone' } })
    await client.send('DELETE', leases('gone'))
    const kept = await client.send('POST', leases(), { metadata: { name: 'kept' }, spec: { holderIdentity: 'a' } })
    await first.stop()
    client.disconnect()

    await using second = await startApiServer({ file, port: Number(new URL(first.url).port) })
    // The kubeconfig of the first server is still good.
    const answer = await client.send('GET', leases('kept'))
    expect(answer.body).toEqual(kept.body)
    expect((await client.send('GET', leases('gone'))).status).toBe(404)
    expect(second.store.version).toBeGreaterThanOrEqual(Number(kept.body.metadata.resourceVersion))
    const next = await client.send('POST', leases(), { metadata: { name: 'next' } })
    expect(Number(next.body.metadata.resourceVersion)).toBeGreaterThan(Number(kept.body.metadata.resourceVersion))
  })

  it('serves the custom resources again that were defined', async () => {
    const definition = {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    }
    const path = '/apis/example.com/v1/namespaces/default/widgets'
    {
      await using first = await startApiServer({ file })
      using client = new TestClient(first)
      await client.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
      const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } }
      expect((await client.send('POST', path, body)).status).toBe(201)
    }
    await using second = await startApiServer({ file })
    using client = new TestClient(second)
    expect((await client.send('GET', `${path}/a`)).status).toBe(200)
  })

  it('has every answered write even when it was not stopped', async () => {
    const first = await startApiServer({ file })
    using client = new TestClient(first)
    await client.send('POST', leases(), { metadata: { name: 'a' } })
    const copy = join(folder, 'copy')
    // What a process that dies now leaves behind, with a write that was cut off.
    await writeFile(copy, await readFile(file))
    await appendFile(copy, '{"ref":{"collection":"coordination.k8s.io/leases","namesp')
    await first.stop()

    await using second = await startApiServer({ file: copy })
    using other = new TestClient(second)
    expect((await other.send('GET', leases('a'))).status).toBe(200)
  })

  it('answers watches from before the restart as too old', async () => {
    const first = await startApiServer({ file })
    const { version } = first.store
    using client = new TestClient(first)
    await client.send('POST', leases(), { metadata: { name: 'a' } })
    await first.stop()
    await using second = await startApiServer({ file })
    expect(second.store.eventsSince('coordination.k8s.io/leases', version)).toBeUndefined()
  })

  it('keeps the file from other users and leaves no other file behind', async () => {
    await (await startApiServer({ file })).stop()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['state'])
  })

  it.each(['', 'not a state file\n', '{"format":"another/1"}\n'])(
    'refuses a file that is something else: %j',
    async (text) => {
      await writeFile(file, text)
      await expect(startApiServer({ file })).rejects.toBeInstanceOf(StateFileError)
      expect(await readFile(file, 'utf8')).toBe(text)
    },
  )
})
