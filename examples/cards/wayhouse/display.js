// The slate by the door: a small board drawn from the variables, and three buttons that each write one update.
const BOARD = `
  <section class="slate">
    <h2>Day <b id="day"></b>, <span id="hour"></span>:00</h2>
    <p>Outside: <span id="weather"></span>. The stove is <b id="stove"></b>.</p>
    <label>Logs <progress id="logs" max="60"></progress> <span id="logs-text"></span></label>
    <label>Warmth <progress id="warmth" max="100"></progress> <span id="warmth-text"></span></label>
    <p>Coin: <b id="coin"></b></p>
    <h3>By the fire</h3>
    <ul id="guests"></ul>
    <p>
      <button id="feed">Feed the stove</button>
      <button id="soup">Serve soup</button>
      <button id="bell">Polish the bell</button>
    </p>
    <p id="said" role="status"></p>
  </section>`;

function draw() {
  const data = Mvu.getMvuData().stat_data;
  for (const key of ['day', 'hour', 'weather', 'stove']) $('#' + key).text(_.get(data, 'house.' + key));
  $('#logs').val(data.house.logs);
  $('#logs-text').text(data.house.logs);
  $('#warmth').val(data.keeper.warmth);
  $('#warmth-text').text(data.keeper.warmth);
  $('#coin').text(data.keeper.coin);
  const present = Object.keys(data.guests).filter(name => data.guests[name].present);
  $('#guests').html(_.isEmpty(present) ? '<li>Nobody yet.</li>' : present.map(() => '<li></li>').join(''));
  present.forEach((name, i) => {
    $('#guests li:nth-child(' + (i + 1) + ')').text(name + ', ' + data.guests[name].mood);
  });
}

function write(patch, words) {
  return errorCatched(async () => {
    await Mvu.updateVariablesWith(patch);
    $('#said').text(words);
  });
}

$(() => {
  $('body').html(BOARD);
  draw();
  $('#feed').on('click', write([
    { op: 'replace', path: '/house/stove', value: 'roaring' },
    { op: 'delta', path: '/house/logs', value: -2 },
    { op: 'delta', path: '/keeper/warmth', value: 10 },
  ], 'The stove takes two logs and roars.'));
  $('#soup').on('click', write([
    { op: 'delta', path: '/pantry/barley/count', value: -1 },
    { op: 'delta', path: '/guests/Bram/trust', value: 3 },
  ], 'Barley and onions. Bram asks for the heel of the loaf.'));
  $('#bell').on('click', write([
    { op: 'replace', path: '/rumours/bell', value: 'It hummed when you polished it.' },
  ], 'It hums, very faintly.'));
});

eventOn(Mvu.events.VARIABLE_UPDATE_ENDED, draw);
