import { readFile, rename, writeFile } from 'node:fs/promises'
import { LockRequestError, type LeaseRecord, type Lock, type PresentLease } from '@tenure/core'

interface Content {
  readonly version: string
  readonly record: LeaseRecord
}

/** A naive lock: it compares, and then swaps. A test that accepts this lock proves nothing. */
export function carelessLock(path: string): Lock {
  const get = async (): Promise<PresentLease> => {
    const { version, record }: Content = JSON.parse(await readFile(path, 'utf8'))
    return { kind: 'present', version: BigInt(version), record, deleting: false }
  }
  const write = async (version: bigint, record: LeaseRecord): Promise<PresentLease> => {
    const draft = `${path}.${process.pid}`
    await writeFile(draft, JSON.stringify({ version: String(version), record }))
    await rename(draft, path)
    return { kind: 'present', version, record, deleting: false }
  }
  return {
    description: `careless lease ${path}`,
    get,
    create: (record) => write(1n, record),
    update: async (base, record) => {
      if ((await get()).version !== base.version) throw new LockRequestError('conflict', 'It was changed')
      return write(base.version + 1n, record)
    },
    watch: () => ({ close: async () => {} }),
    close: async () => {},
  }
}
