import { countFaults, type FaultScript, type ScriptedFault, type Storm } from './fault-script.ts'

/** How many scripts are tried at most. */
const MAX_RUNS = 300

/** Runs a script. Resolves with whether the same rule is broken. */
export type StillFails = (script: FaultScript) => Promise<boolean>

/**
 * Looks for the fewest faults with which a run still breaks the same rule, by delta debugging (Zeller and Hildebrandt, 2002): it leaves
 * out periods, then kinds of faults, then ever smaller groups of faults, and rounds what is left.
 */
export async function shrinkScript(failing: FaultScript, stillFails: StillFails): Promise<FaultScript> {
  let runs = 0
  let least = failing
  const accepts = async (candidate: FaultScript): Promise<boolean> => {
    if (runs >= MAX_RUNS || !(await stillFails(candidate))) return false
    least = candidate
    return true
  }
  const counting = (candidate: FaultScript): Promise<boolean> => {
    runs += 1
    return accepts(candidate)
  }
  if (least.length > 0 && (await counting([]))) return least
  await dropStorms(() => least, counting)
  await dropKinds(() => least, counting)
  await dropFaults(() => least, counting)
  await roundNumbers(() => least, counting)
  return least
}

type Accepts = (candidate: FaultScript) => Promise<boolean>

/** Without each period in turn, the last first. */
async function dropStorms(least: () => FaultScript, accepts: Accepts): Promise<void> {
  for (let index = least().length - 1; index >= 0; index--) await accepts(least().toSpliced(index, 1))
}

/** Without each kind of fault in turn: most defects need few kinds. */
async function dropKinds(least: () => FaultScript, accepts: Accepts): Promise<void> {
  const kinds = new Set(least().flatMap(({ faults }) => faults.map(({ kind }) => kind)))
  for (const dropped of kinds) {
    const isLeft = ({ kind }: ScriptedFault) => kind !== dropped
    await accepts(least().map((storm) => ({ ...storm, faults: storm.faults.filter(isLeft) })))
  }
}

/** Without groups of faults: halves first, single faults in the end, and those again until none can be left out. */
async function dropFaults(least: () => FaultScript, accepts: Accepts): Promise<void> {
  let size = Math.ceil(countFaults(least()) / 2)
  while (size > 0) {
    let hasDropped = false
    for (let first = 0; first < countFaults(least());) {
      if (await accepts(without(least(), first, size))) hasDropped = true
      else first += size
    }
    if (size > 1) size = Math.ceil(size / 2)
    else if (!hasDropped) return
  }
}

/** The script without some faults, by their place in the whole. */
function without(script: FaultScript, first: number, size: number): FaultScript {
  let place = 0
  const isLeft = () => {
    const at = place++
    return at < first || at >= first + size
  }
  return script.map((storm): Storm => ({ ...storm, faults: storm.faults.filter(isLeft) }))
}

/** With round numbers: all at once, or else as many as possible, the last first. */
async function roundNumbers(least: () => FaultScript, accepts: Accepts): Promise<void> {
  if (await accepts(rounded(least(), () => true))) return
  for (let place = countFaults(least()) - 1; place >= 0; place--) {
    await accepts(rounded(least(), (one) => one === place))
  }
}

function rounded(script: FaultScript, isChosen: (place: number) => boolean): FaultScript {
  let place = 0
  const round = (fault: ScriptedFault): ScriptedFault => {
    if (!isChosen(place++)) return fault
    return { ...fault, at: Math.round(fault.at), severity: Math.round(fault.severity * 100) / 100 }
  }
  return script.map(({ from, to, faults }) => ({
    from: Math.round(from),
    to: Math.round(to),
    faults: faults.map(round),
  }))
}
