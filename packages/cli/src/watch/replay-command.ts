import { textOf } from '@tenure/core/internal'
import type { Command } from 'commander'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { addCommand } from '../add-command.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { parseSighting, WatchLog } from './watch-log.ts'

/** Adds `tenure replay`. */
export function addReplay(program: Command, { terminal }: Invocation): void {
  addCommand(program, {
    usage: 'replay <file>',
    does: 'print what `tenure watch --record` has recorded, as it was printed then',
    examples: ['tenure replay handover.jsonl'],
  }).action((path: string) => replay(path, terminal))
}

async function replay(path: string, { out }: Terminal): Promise<void> {
  const log = new WatchLog(out)
  let number = 0
  try {
    for await (const line of createInterface({ input: createReadStream(path) })) {
      number += 1
      const sighting = parseSighting(line)
      if (sighting === undefined) throw new Error(`line ${number} is no sighting of a lease`)
      log.take(sighting)
    }
  } catch (cause) {
    throw new Error(`Could not replay ${path}: ${textOf(cause)}.`, { cause })
  }
}
