// 状态栏：只读变量画一块小牌子，三个按钮各写一条更新。
const 骨架 = `
  <section class="牌子">
    <h2>第 <b id="夜"></b> 夜 · <span id="时刻"></span></h2>
    <p><span id="地点"></span>，<span id="天气"></span></p>
    <p>灯火：<b id="灯火"></b>　号钟：<b id="号钟"></b> 次</p>
    <label>灯油 <progress id="灯油" max="100"></progress> <span id="灯油数"></span></label>
    <label>体力 <progress id="体力" max="100"></progress> <span id="体力数"></span></label>
    <h3>行囊</h3>
    <ul id="行囊"></ul>
    <p>
      <button id="挑灯">挑亮灯芯</button>
      <button id="敲钟">敲一声钟</button>
      <button id="喂猫">摸摸墨鱼</button>
    </p>
    <p id="回话" role="status"></p>
  </section>`;

function 画() {
  const 数据 = Mvu.getMvuData().stat_data;
  for (const 名 of ['夜', '时刻', '地点', '天气']) $('#' + 名).text(_.get(数据, '世界.' + 名));
  $('#灯火').text(数据.灯塔.灯火);
  $('#号钟').text(数据.灯塔.号钟);
  $('#灯油').val(数据.灯塔.灯油);
  $('#灯油数').text(数据.灯塔.灯油);
  $('#体力').val(数据.主角.体力);
  $('#体力数').text(数据.主角.体力);
  const 行囊 = 数据.主角.行囊;
  $('#行囊').html(_.isEmpty(行囊) ? '<li>空空的</li>' : Object.keys(行囊).map(() => '<li></li>').join(''));
  Object.keys(行囊).forEach((名, i) => $('#行囊 li:nth-child(' + (i + 1) + ')').text(名 + ' ×' + 行囊[名].数量));
}

function 写(更新, 话) {
  return errorCatched(async () => {
    await Mvu.updateVariablesWith(更新);
    $('#回话').text(话);
  });
}

$(() => {
  $('body').html(骨架);
  画();
  $('#挑灯').on('click', 写([
    { op: 'replace', path: '/灯塔/灯火', value: '明亮' },
    { op: 'delta', path: '/灯塔/灯油', value: -5 },
  ], '火苗往上一蹿，灯室亮了。'));
  $('#敲钟').on('click', 写([{ op: 'delta', path: '/灯塔/号钟', value: 1 }], '当——钟声滚进雾里。'));
  $('#喂猫').on('click', 写([{ op: 'delta', path: '/人物/墨鱼/好感', value: 2 }], '墨鱼把下巴搁在你的手背上。'));
});

eventOn(Mvu.events.VARIABLE_UPDATE_ENDED, 画);
