import { colourIndex, durationText, partsOf, ticksOf, xOf } from './layout.js'

/** White text is legible on each of them. */
const COLOURS = ['#2563eb', '#c2410c', '#15803d', '#7e22ce', '#be123c', '#0f766e', '#a16207', '#4338ca']

/** @param {string} holder */
function colourOf(holder) {
  return COLOURS[colourIndex(holder) % COLOURS.length] ?? '#2563eb'
}

/** The colours of the page around the bands. */
export function inkOf(/** @type {Element} */ element) {
  const style = getComputedStyle(element)
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim()
  return {
    ink: read('--ink'),
    soft: read('--soft'),
    line: read('--line'),
    warn: read('--warn'),
    paper: read('--paper'),
  }
}

/**
 * Fits a canvas to its size on the screen, and returns its context in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function contextOf(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== w) canvas.width = w
  if (canvas.height !== h) canvas.height = h
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  return context
}

/**
 * Draws the lines and times of the axis, and the line of now.
 * @param {CanvasRenderingContext2D} context
 * @param {import('./layout.js').Scale} scale
 * @param {{ height: number, ink: ReturnType<typeof inkOf> }} style
 */
export function drawAxis(context, scale, { height, ink }) {
  context.textAlign = 'center'
  for (const { time, text } of ticksOf(scale)) {
    const x = Math.round(xOf(time, scale)) + 0.5
    context.fillStyle = ink.line
    context.fillRect(x, 0, 1, height - 20)
    context.fillStyle = ink.soft
    context.fillText(text, x, height - 9)
  }
  context.fillStyle = ink.warn
  context.fillRect(Math.round(xOf(scale.now, scale)), 0, 1, height - 20)
}

/**
 * Draws one lease. `laneOf` says in which lane, from the top, the terms of a holder are.
 * @param {CanvasRenderingContext2D} context
 * @param {import('./layout.js').Lease} lease
 * @param {{ scale: import('./layout.js').Scale, ink: ReturnType<typeof inkOf>, top: number, height: number, laneOf: (holder: string) => number }} place
 */
export function drawLease(context, lease, { scale, ink, top, height, laneOf }) {
  let lastLane = 0
  context.textAlign = 'left'
  for (const part of partsOf(lease, scale)) {
    if (part.kind === 'overlap') {
      drawPart(context, part, { y: top, height: height * (lease.lanes?.length ?? 1), ink, fromY: top })
      continue
    }
    const lane = part.holder === '' ? lastLane : laneOf(part.holder)
    const y = top + lane * height + 4
    drawPart(context, part, { y, height: height - 8, ink, fromY: top + lastLane * height + height / 2 })
    lastLane = lane
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./layout.js').Part} part
 * @param {{ y: number, height: number, ink: ReturnType<typeof inkOf>, fromY: number }} place
 */
function drawPart(context, part, { y, height, ink, fromY }) {
  const { x } = part
  // A term of a millisecond is still to be seen among days.
  const width = Math.max(part.width, 1.5)
  const colour = colourOf(part.holder)
  switch (part.kind) {
    case 'term':
      context.fillStyle = colour
      context.fillRect(x, y, width, height)
      if (part.isFromSeen === false) fadeIn(context, { x, y, height, paper: ink.paper })
      label(context, `${part.holder}${part.epoch === undefined ? '' : ` · ${part.epoch}`}`, { x, y, width, height })
      break
    case 'drain':
      stripes(context, { x, y, width, height })
      break
    case 'valid':
      context.globalAlpha = 0.35
      context.fillStyle = colour
      context.fillRect(x, y + height / 4, width, height / 2)
      context.globalAlpha = 1
      break
    case 'wedge':
      wedge(context, { x, y, width, height, colour: ink.warn })
      break
    case 'expired':
      context.strokeStyle = ink.warn
      context.setLineDash([3, 3])
      context.strokeRect(x + 0.5, y + 0.5, width, height - 1)
      context.setLineDash([])
      break
    case 'gap':
      context.fillStyle = ink.warn
      context.fillRect(x, y + height / 2 - 1, width, 2)
      if (width > 44) {
        context.textAlign = 'center'
        context.fillText(durationText(part.to - part.from), x + width / 2, y + height / 2 - 7)
        context.textAlign = 'left'
      }
      break
    case 'overlap':
      context.globalAlpha = 0.25
      context.fillStyle = ink.warn
      context.fillRect(x, y, width, height)
      context.globalAlpha = 1
      context.strokeStyle = ink.warn
      context.strokeRect(x + 0.5, y + 0.5, width, height - 1)
      break
    case 'arrow':
      arrow(context, { x, fromY, toY: y + height / 2, colour: ink.ink })
  }
}

/** The beginning was not seen. */
function fadeIn(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {{ x: number, y: number, height: number, paper: string }} */ { x, y, height, paper },
) {
  context.fillStyle = paper
  for (let step = 0; step < 3; step += 1) context.fillRect(x + step * 4, y, 2, height)
}

function stripes(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {{ x: number, y: number, width: number, height: number }} */ { x, y, width, height },
) {
  context.save()
  context.beginPath()
  context.rect(x, y, width, height)
  context.clip()
  context.strokeStyle = 'rgba(255,255,255,0.75)'
  context.lineWidth = 2
  context.beginPath()
  for (let at = x - height; at < x + width; at += 7) {
    context.moveTo(at, y + height)
    context.lineTo(at + height, y)
  }
  context.stroke()
  context.restore()
}

/** A cross over the time in which the drain should have ended, and where there is room, its name. */
function wedge(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {{ x: number, y: number, width: number, height: number, colour: string }} */ {
    x,
    y,
    width,
    height,
    colour,
  },
) {
  const half = Math.min(height / 2, 6)
  const middle = y + height / 2
  context.strokeStyle = colour
  context.strokeRect(x + 0.5, y + 0.5, width, height - 1)
  context.lineWidth = 2
  context.beginPath()
  for (const side of [-1, 1]) {
    context.moveTo(x, middle - side * half)
    context.lineTo(x + 2 * half, middle + side * half)
  }
  context.stroke()
  context.lineWidth = 1
  context.fillStyle = colour
  if (width > 60) context.fillText('wedged', x + 2 * half + 4, middle + 0.5)
}

function label(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {string} */ text,
  /** @type {{ x: number, y: number, width: number, height: number }} */ { x, y, width, height },
) {
  const from = Math.max(x, 0)
  const room = x + width - from - 8
  if (room < 24) return
  const most = Math.floor(room / 6)
  context.fillStyle = '#ffffff'
  context.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, from + 4, y + height / 2 + 0.5)
}

/** From the former to the next leader; within one lane, only its head. */
function arrow(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {{ x: number, fromY: number, toY: number, colour: string }} */ { x, fromY, toY, colour },
) {
  context.strokeStyle = colour
  context.fillStyle = colour
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(x, fromY)
  context.lineTo(x, toY)
  context.stroke()
  context.lineWidth = 1
  context.beginPath()
  const isLevel = Math.abs(fromY - toY) < 1
  const tip = isLevel ? [x + 5, toY] : [x, toY]
  const back = isLevel
    ? [
        [x - 3, toY - 5],
        [x - 3, toY + 5],
      ]
    : [-1, 1].map((side) => [x + side * 4, toY + (fromY < toY ? -7 : 7)])
  context.moveTo(tip[0] ?? 0, tip[1] ?? 0)
  for (const [px = 0, py = 0] of back) context.lineTo(px, py)
  context.fill()
}
