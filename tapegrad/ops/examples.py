"""Examples of the elementwise functions.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

EXAMPLES: dict[str, str] = {
    "add": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.add(x1, x2)
>>> y
Tensor([-3.,  5.])
>>> y.backward()
>>> x1.grad
array([1., 1.])
>>> x2.grad
array([1., 1.])""",
    "subtract": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.subtract(x1, x2)
>>> y
Tensor([-1., -1.])
>>> y.backward()
>>> x1.grad
array([1., 1.])
>>> x2.grad
array([-1., -1.])""",
    "multiply": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.multiply(x1, x2)
>>> y
Tensor([2., 6.])
>>> y.backward()
>>> x1.grad
array([-1.,  3.])
>>> x2.grad
array([-2.,  2.])""",
    "divide": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([1.6, 3.5])
>>> y = tg.divide(x1, x2)
>>> y
Tensor([-1.25      ,  0.57142857])
>>> y.backward()
>>> x1.grad
array([0.625     , 0.28571429])
>>> x2.grad
array([ 0.78125   , -0.16326531])""",
    "negative": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.negative(x)
>>> y
Tensor([ 2., -2.])
>>> y.backward()
>>> x.grad
array([-1., -1.])""",
    "positive": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.positive(x)
>>> y
Tensor([-2.,  2.])
>>> y.backward()
>>> x.grad
array([1., 1.])""",
    "reciprocal": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.reciprocal(x)
>>> y
Tensor([0.90909091, 0.33333333])
>>> y.backward()
>>> x.grad
array([-0.82644628, -0.11111111])""",
    "square": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.square(x)
>>> y
Tensor([4., 4.])
>>> y.backward()
>>> x.grad
array([-4.,  4.])""",
    "sqrt": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.sqrt(x)
>>> y
Tensor([1.04880885, 1.73205081])
>>> y.backward()
>>> x.grad
array([0.47673129, 0.28867513])""",
    "cbrt": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.cbrt(x)
>>> y
Tensor([1.03228012, 1.44224957])
>>> y.backward()
>>> x.grad
array([0.31281216, 0.16024995])""",
    "floor": """\
>>> x = tg.tensor([-1.5, -0.5, 0.5, 1.5])
>>> y = tg.floor(x)
>>> y
Tensor([-2., -1.,  0.,  1.])
>>> y.backward()
>>> x.grad
array([0., 0., 0., 0.])""",
    "ceil": """\
>>> x = tg.tensor([-1.5, -0.5, 0.5, 1.5])
>>> y = tg.ceil(x)
>>> y
Tensor([-1., -0.,  1.,  2.])
>>> y.backward()
>>> x.grad
array([0., 0., 0., 0.])""",
    "rint": """\
>>> x = tg.tensor([-1.5, -0.5, 0.5, 1.5])
>>> y = tg.rint(x)
>>> y
Tensor([-2., -0.,  0.,  2.])
>>> y.backward()
>>> x.grad
array([0., 0., 0., 0.])""",
    "trunc": """\
>>> x = tg.tensor([-1.5, -0.5, 0.5, 1.5])
>>> y = tg.trunc(x)
>>> y
Tensor([-1., -0.,  0.,  1.])
>>> y.backward()
>>> x.grad
array([0., 0., 0., 0.])""",
    "sign": """\
>>> x = tg.tensor([-3.0, 0.0, 2.0])
>>> y = tg.sign(x)
>>> y
Tensor([-1.,  0.,  1.])
>>> y.backward()
>>> x.grad
array([0., 0., 0.])""",
    "remainder": """\
>>> x1 = tg.tensor([5.5, -5.5, 5.5])
>>> x2 = tg.tensor([2.0, 2.0, -2.0])
>>> y = tg.remainder(x1, x2)
>>> y
Tensor([ 1.5,  0.5, -0.5])
>>> y.backward()
>>> x1.grad
array([1., 1., 1.])
>>> x2.grad
array([-2.,  3.,  3.])""",
    "fmod": """\
>>> x1 = tg.tensor([5.5, -5.5, 5.5])
>>> x2 = tg.tensor([2.0, 2.0, -2.0])
>>> y = tg.fmod(x1, x2)
>>> y
Tensor([ 1.5, -1.5,  1.5])
>>> y.backward()
>>> x1.grad
array([1., 1., 1.])
>>> x2.grad
array([-2.,  2.,  2.])""",
    "floor_divide": """\
>>> x1 = tg.tensor([5.5, -5.5, 5.5])
>>> x2 = tg.tensor([2.0, 2.0, -2.0])
>>> y = tg.floor_divide(x1, x2)
>>> y
Tensor([ 2., -3., -3.])
>>> y.backward()
>>> x1.grad
array([0., 0., 0.])
>>> x2.grad
array([0., 0., 0.])""",
    "copysign": """\
>>> x1 = tg.tensor([1.0, -2.0, 0.0])
>>> x2 = tg.tensor([-1.0, -0.0, 2.0])
>>> y = tg.copysign(x1, x2)
>>> y
Tensor([-1., -2.,  0.])
>>> y.backward()
>>> x1.grad
array([-1.,  1.,  0.])
>>> x2.grad
array([0., 0., 0.])""",
    "nextafter": """\
>>> x1 = tg.tensor([1.0, 2.0])
>>> x2 = tg.tensor([2.0, 2.0])
>>> y = tg.nextafter(x1, x2)
>>> y
Tensor([1., 2.])
>>> y.backward()
>>> x1.grad
array([1., 1.])
>>> x2.grad
array([0., 0.])""",
    "spacing": """\
>>> x = tg.tensor([1.0, 10000000000.0])
>>> y = tg.spacing(x)
>>> y
Tensor([2.22044605e-16, 1.90734863e-06])
>>> y.backward()
>>> x.grad
array([0., 0.])""",
    "absolute": """\
>>> x = tg.tensor([-3.0, 0.0, 2.0])
>>> y = tg.absolute(x)
>>> y
Tensor([3., 0., 2.])
>>> y.backward()
>>> x.grad
array([-1.,  0.,  1.])""",
    "maximum": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> y = tg.maximum(x1, x2)
>>> y
Tensor([2., 2., 3.])
>>> y.backward()
>>> x1.grad
array([0. , 0.5, 1. ])
>>> x2.grad
array([1. , 0.5, 0. ])""",
    "minimum": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> y = tg.minimum(x1, x2)
>>> y
Tensor([1., 2., 2.])
>>> y.backward()
>>> x1.grad
array([1. , 0.5, 0. ])
>>> x2.grad
array([0. , 0.5, 1. ])""",
    "fmax": """\
>>> x1 = tg.tensor([1.0, 2.0, tg.nan])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> y = tg.fmax(x1, x2)
>>> y
Tensor([2., 2., 2.])
>>> y.backward()
>>> x1.grad
array([0. , 0.5, 0. ])
>>> x2.grad
array([1. , 0.5, 1. ])""",
    "fmin": """\
>>> x1 = tg.tensor([1.0, 2.0, tg.nan])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> y = tg.fmin(x1, x2)
>>> y
Tensor([1., 2., 2.])
>>> y.backward()
>>> x1.grad
array([1. , 0.5, 0. ])
>>> x2.grad
array([0. , 0.5, 1. ])""",
    "relu": """\
>>> x = tg.tensor([-3.0, 0.0, 2.0])
>>> y = tg.relu(x)
>>> y
Tensor([0., 0., 2.])
>>> y.backward()
>>> x.grad
array([0., 0., 1.])""",
    "power": """\
>>> x1 = tg.tensor([1.1, 3.0])
>>> x2 = tg.tensor([-0.8, 2.2])
>>> y = tg.power(x1, x2)
>>> y
Tensor([ 0.92658625, 11.21157846])
>>> y.backward()
>>> x1.grad
array([-0.67388091,  8.2218242 ])
>>> x2.grad
array([ 0.0883131 , 12.31717787])""",
    "exp": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.exp(x)
>>> y
Tensor([0.13533528, 7.3890561 ])
>>> y.backward()
>>> x.grad
array([0.13533528, 7.3890561 ])""",
    "exp2": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.exp2(x)
>>> y
Tensor([0.25, 4.  ])
>>> y.backward()
>>> x.grad
array([0.1732868 , 2.77258872])""",
    "expm1": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.expm1(x)
>>> y
Tensor([-0.86466472,  6.3890561 ])
>>> y.backward()
>>> x.grad
array([0.13533528, 7.3890561 ])""",
    "log": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.log(x)
>>> y
Tensor([0.09531018, 1.09861229])
>>> y.backward()
>>> x.grad
array([0.90909091, 0.33333333])""",
    "log2": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.log2(x)
>>> y
Tensor([0.13750352, 1.5849625 ])
>>> y.backward()
>>> x.grad
array([1.31154095, 0.48089835])""",
    "log10": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.log10(x)
>>> y
Tensor([0.04139269, 0.47712125])
>>> y.backward()
>>> x.grad
array([0.39481317, 0.14476483])""",
    "log1p": """\
>>> x = tg.tensor([0.3, 2.8])
>>> y = tg.log1p(x)
>>> y
Tensor([0.26236426, 1.33500107])
>>> y.backward()
>>> x.grad
array([0.76923077, 0.26315789])""",
    "logaddexp": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.logaddexp(x1, x2)
>>> y
Tensor([-0.68673831,  3.31326169])
>>> y.backward()
>>> x1.grad
array([0.26894142, 0.26894142])
>>> x2.grad
array([0.73105858, 0.73105858])""",
    "logaddexp2": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.logaddexp2(x1, x2)
>>> y
Tensor([-0.4150375,  3.5849625])
>>> y.backward()
>>> x1.grad
array([0.33333333, 0.33333333])
>>> x2.grad
array([0.66666667, 0.66666667])""",
    "sigmoid": """\
>>> x = tg.tensor([-10.0, 10.0])
>>> y = tg.sigmoid(x)
>>> y
Tensor([4.53978687e-05, 9.99954602e-01])
>>> y.backward()
>>> x.grad
array([4.53958077e-05, 4.53958077e-05])""",
    "softplus": """\
>>> x = tg.tensor([-10.0, 10.0])
>>> y = tg.softplus(x)
>>> y
Tensor([4.53988992e-05, 1.00000454e+01])
>>> y.backward()
>>> x.grad
array([4.53978687e-05, 9.99954602e-01])""",
    "sin": """\
>>> x = tg.tensor([0.0, 3.0])
>>> y = tg.sin(x)
>>> y
Tensor([0.        , 0.14112001])
>>> y.backward()
>>> x.grad
array([ 1.       , -0.9899925])""",
    "cos": """\
>>> x = tg.tensor([0.8, 2.3])
>>> y = tg.cos(x)
>>> y
Tensor([ 0.69670671, -0.66627602])
>>> y.backward()
>>> x.grad
array([-0.71735609, -0.74570521])""",
    "tan": """\
>>> x = tg.tensor([-0.8, 0.8])
>>> y = tg.tan(x)
>>> y
Tensor([-1.02963856,  1.02963856])
>>> y.backward()
>>> x.grad
array([2.06015556, 2.06015556])""",
    "arcsin": """\
>>> x = tg.tensor([-0.5, 0.5])
>>> y = tg.arcsin(x)
>>> y
Tensor([-0.52359878,  0.52359878])
>>> y.backward()
>>> x.grad
array([1.15470054, 1.15470054])""",
    "arccos": """\
>>> x = tg.tensor([-0.5, 0.5])
>>> y = tg.arccos(x)
>>> y
Tensor([2.0943951 , 1.04719755])
>>> y.backward()
>>> x.grad
array([-1.15470054, -1.15470054])""",
    "arctan": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.arctan(x)
>>> y
Tensor([-1.10714872,  1.10714872])
>>> y.backward()
>>> x.grad
array([0.2, 0.2])""",
    "arctan2": """\
>>> x1 = tg.tensor([1.1, 3.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.arctan2(x1, x2)
>>> y
Tensor([2.30861139, 0.78539816])
>>> y.backward()
>>> x1.grad
array([-0.45248869,  0.16666667])
>>> x2.grad
array([-0.49773756, -0.16666667])""",
    "hypot": """\
>>> x1 = tg.tensor([-2.0, 2.0])
>>> x2 = tg.tensor([-1.0, 3.0])
>>> y = tg.hypot(x1, x2)
>>> y
Tensor([2.23606798, 3.60555128])
>>> y.backward()
>>> x1.grad
array([-0.89442719,  0.5547002 ])
>>> x2.grad
array([-0.4472136 ,  0.83205029])""",
    "sinc": """\
>>> x = tg.tensor([-0.6, 0.6])
>>> y = tg.sinc(x)
>>> y
Tensor([0.50455115, 0.50455115])
>>> y.backward()
>>> x.grad
array([ 1.35594691, -1.35594691])""",
    "sinh": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.sinh(x)
>>> y
Tensor([-3.62686041,  3.62686041])
>>> y.backward()
>>> x.grad
array([3.76219569, 3.76219569])""",
    "cosh": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.cosh(x)
>>> y
Tensor([3.76219569, 3.76219569])
>>> y.backward()
>>> x.grad
array([-3.62686041,  3.62686041])""",
    "tanh": """\
>>> x = tg.tensor([-10.0, 10.0])
>>> y = tg.tanh(x)
>>> y
Tensor([-1.,  1.])
>>> y.backward()
>>> x.grad
array([8.24461446e-09, 8.24461446e-09])""",
    "arcsinh": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.arcsinh(x)
>>> y
Tensor([-1.44363548,  1.44363548])
>>> y.backward()
>>> x.grad
array([0.4472136, 0.4472136])""",
    "arccosh": """\
>>> x = tg.tensor([1.8, 3.3])
>>> y = tg.arccosh(x)
>>> y
Tensor([1.19291073, 1.86327935])
>>> y.backward()
>>> x.grad
array([0.6681531, 0.3179815])""",
    "arctanh": """\
>>> x = tg.tensor([-0.5, 0.5])
>>> y = tg.arctanh(x)
>>> y
Tensor([-0.54930614,  0.54930614])
>>> y.backward()
>>> x.grad
array([1.33333333, 1.33333333])""",
    "erf": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.erf(x)
>>> y
Tensor([-0.99532227,  0.99532227])
>>> y.backward()
>>> x.grad
array([0.02066699, 0.02066699])""",
    "erfc": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.erfc(x)
>>> y
Tensor([1.99532227, 0.00467773])
>>> y.backward()
>>> x.grad
array([-0.02066699, -0.02066699])""",
    "erfcx": """\
>>> x = tg.tensor([0.0, 4.0])
>>> y = tg.special.erfcx(x)
>>> y
Tensor([1.        , 0.13699946])
>>> y.backward()
>>> x.grad
array([-1.12837917, -0.03238351])""",
    "dawsn": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.dawsn(x)
>>> y
Tensor([-0.30134039,  0.30134039])
>>> y.backward()
>>> x.grad
array([-0.20536156, -0.20536156])""",
    "wofz": """\
>>> z = tg.tensor([-2.0, 2.0])
>>> y = tg.special.wofz(z)
>>> y
Tensor([0.01831564-0.34002622j, 0.01831564+0.34002622j], dtype=complex128)
>>> y.real.backward()
>>> z.grad
array([ 0.07326256, -0.07326256])""",
    "erfi": """\
>>> z = tg.tensor([-1.0, 1.0])
>>> y = tg.special.erfi(z)
>>> y
Tensor([-1.65042576,  1.65042576])
>>> y.backward()
>>> z.grad
array([3.06725259, 3.06725259])""",
    "expi": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.expi(x)
>>> y
Tensor([2.16737828, 9.93383257])
>>> y.backward()
>>> x.grad
array([2.73106002, 6.69517897])""",
    "exp1": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.exp1(x)
>>> y
Tensor([0.1859909 , 0.01304838])
>>> y.backward()
>>> x.grad
array([-0.30261008, -0.01659569])""",
    "spence": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.spence(x)
>>> y
Tensor([-0.09760524, -1.43674637])
>>> y.backward()
>>> x.grad
array([-0.9531018 , -0.54930614])""",
    "erfinv": """\
>>> x = tg.tensor([-0.5, 0.5])
>>> y = tg.special.erfinv(x)
>>> y
Tensor([-0.47693628,  0.47693628])
>>> y.backward()
>>> x.grad
array([1.11258482, 1.11258482])""",
    "erfcinv": """\
>>> x = tg.tensor([0.5, 1.5])
>>> y = tg.special.erfcinv(x)
>>> y
Tensor([ 0.47693628, -0.47693628])
>>> y.backward()
>>> x.grad
array([-1.11258482, -1.11258482])""",
    "ndtr": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.ndtr(x)
>>> y
Tensor([0.02275013, 0.97724987])
>>> y.backward()
>>> x.grad
array([0.05399097, 0.05399097])""",
    "log_ndtr": """\
>>> x = tg.tensor([-3.5, 1.5])
>>> y = tg.special.log_ndtr(x)
>>> y
Tensor([-8.36606531, -0.06914346])
>>> y.backward()
>>> x.grad
array([3.75139126, 0.13878975])""",
    "ndtri": """\
>>> x = tg.tensor([0.3, 0.7])
>>> y = tg.special.ndtri(x)
>>> y
Tensor([-0.52440051,  0.52440051])
>>> y.backward()
>>> x.grad
array([2.87610366, 2.87610366])""",
    "logit": """\
>>> x = tg.tensor([0.3, 0.7])
>>> y = tg.special.logit(x)
>>> y
Tensor([-0.84729786,  0.84729786])
>>> y.backward()
>>> x.grad
array([4.76190476, 4.76190476])""",
    "log_expit": """\
>>> x = tg.tensor([-10.0, 10.0])
>>> y = tg.special.log_expit(x)
>>> y
Tensor([-1.00000454e+01, -4.53988992e-05])
>>> y.backward()
>>> x.grad
array([9.99954602e-01, 4.53978687e-05])""",
    "owens_t": """\
>>> h = tg.tensor([-1.0, 1.0])
>>> a = tg.tensor([-0.5, 1.5])
>>> y = tg.special.owens_t(h, a)
>>> y
Tensor([-0.04306469,  0.07573487])
>>> y.backward()
>>> h.grad
array([-0.04632831, -0.10481998])
>>> a.grad
array([0.0681516 , 0.00964291])""",
    "xlogy": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.tensor([1.6, 3.5])
>>> z = tg.special.xlogy(x, y)
>>> z
Tensor([0.51700399, 3.75828891])
>>> z.backward()
>>> x.grad
array([0.47000363, 1.25276297])
>>> y.grad
array([0.6875    , 0.85714286])""",
    "xlog1py": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.tensor([0.9, 3.4])
>>> z = tg.special.xlog1py(x, y)
>>> z
Tensor([0.70603927, 4.44481362])
>>> z.backward()
>>> x.grad
array([0.64185389, 1.48160454])
>>> y.grad
array([0.57894737, 0.68181818])""",
    "entr": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.entr(x)
>>> y
Tensor([-0.1048412 , -3.29583687])
>>> y.backward()
>>> x.grad
array([-1.09531018, -2.09861229])""",
    "rel_entr": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.tensor([1.6, 3.5])
>>> z = tg.special.rel_entr(x, y)
>>> z
Tensor([-0.41216279, -0.46245204])
>>> z.backward()
>>> x.grad
array([0.62530655, 0.84584932])
>>> y.grad
array([-0.6875    , -0.85714286])""",
    "kl_div": """\
>>> x = tg.tensor([0.6, 1.5])
>>> y = tg.tensor([1.6, 3.5])
>>> z = tg.special.kl_div(x, y)
>>> z
Tensor([0.41150245, 0.72905321])
>>> z.backward()
>>> x.grad
array([-0.98082925, -0.84729786])
>>> y.grad
array([0.625     , 0.57142857])""",
    "exprel": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.exprel(x)
>>> y
Tensor([0.43233236, 3.19452805])
>>> y.backward()
>>> x.grad
array([0.14849854, 2.09726402])""",
    "cosm1": """\
>>> x = tg.tensor([0.8, 2.3])
>>> y = tg.special.cosm1(x)
>>> y
Tensor([-0.30329329, -1.66627602])
>>> y.backward()
>>> x.grad
array([-0.71735609, -0.74570521])""",
    "boxcox": """\
>>> x = tg.tensor([1.1, 3.0])
>>> lmbda = tg.tensor([-0.2, 1.6])
>>> y = tg.special.boxcox(x, lmbda)
>>> y
Tensor([0.09440752, 2.99971633])
>>> y.backward()
>>> x.grad
array([0.89192591, 1.93318204])
>>> lmbda.grad
array([0.00448471, 2.1073352 ])""",
    "inv_boxcox": """\
>>> y = tg.tensor([0.2, 1.4])
>>> lmbda = tg.tensor([0.8, 1.8])
>>> z = tg.special.inv_boxcox(y, lmbda)
>>> z
Tensor([1.2038503 , 2.01203167])
>>> z.backward()
>>> y.grad
array([1.03780199, 0.57159991])
>>> lmbda.grad
array([-0.01972992, -0.33692333])""",
    "huber": """\
>>> delta = tg.tensor([0.3, 0.8])
>>> r = tg.tensor([2.4, 3.7])
>>> y = tg.special.huber(delta, r)
>>> y
Tensor([0.675, 2.64 ])
>>> y.backward()
>>> delta.grad
array([2.1, 2.9])
>>> r.grad
array([0.3, 0.8])""",
    "pseudo_huber": """\
>>> delta = tg.tensor([1.1, 3.0])
>>> r = tg.tensor([-1.0, 3.0])
>>> y = tg.special.pseudo_huber(delta, r)
>>> y
Tensor([0.42526756, 3.72792206])
>>> y.backward()
>>> delta.grad
array([0.10054096, 0.36396103])
>>> r.grad
array([-0.73994007,  2.12132034])""",
    "lgamma": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.lgamma(x)
>>> y
Tensor([-0.04987244,  0.69314718])
>>> y.backward()
>>> x.grad
array([-0.42375494,  0.92278434])""",
    "loggamma": """\
>>> z = tg.tensor([1.1, 3.0])
>>> y = tg.special.loggamma(z)
>>> y
Tensor([-0.04987244,  0.69314718])
>>> y.backward()
>>> z.grad
array([-0.42375494,  0.92278434])""",
    "digamma": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.digamma(x)
>>> y
Tensor([-0.42375494,  0.92278434])
>>> y.backward()
>>> x.grad
array([1.43329915, 0.39493407])""",
    "gamma": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.gamma(x)
>>> y
Tensor([0.95135077, 2.        ])
>>> y.backward()
>>> x.grad
array([-0.40313959,  1.84556867])""",
    "rgamma": """\
>>> x = tg.tensor([-1.1, 2.3])
>>> y = tg.special.rgamma(x)
>>> y
Tensor([0.10293566, 0.85710962])
>>> y.backward()
>>> x.grad
array([-1.04522556, -0.51429996])""",
    "gammasgn": """\
>>> x = tg.tensor([-0.7, -0.3])
>>> y = tg.special.gammasgn(x)
>>> y
Tensor([-1., -1.])
>>> y.backward()
>>> x.grad
array([0., 0.])""",
    "poch": """\
>>> z = tg.tensor([1.1, 3.0])
>>> m = tg.tensor([1.6, 3.5])
>>> y = tg.special.poch(z, m)
>>> y
Tensor([  1.62367646, 143.94263891])
>>> y.backward()
>>> z.grad
array([  1.98175899, 125.24837589])
>>> m.grad
array([  1.29371807, 258.07638822])""",
    "beta": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> y = tg.special.beta(a, b)
>>> y
Tensor([0.55030382, 0.02308802])
>>> y.backward()
>>> a.grad
array([-0.67166678, -0.02008951])
>>> b.grad
array([-0.36910842, -0.01592507])""",
    "betaln": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> y = tg.special.betaln(a, b)
>>> y
Tensor([-0.59728476, -3.76844128])
>>> y.backward()
>>> a.grad
array([-1.22053811, -0.870127  ])
>>> b.grad
array([-0.67073572, -0.68975469])""",
    "binom": """\
>>> x = tg.tensor([2.9, 3.6])
>>> y = tg.tensor([0.8, 1.8])
>>> z = tg.special.binom(x, y)
>>> z
Tensor([2.58904514, 4.76097067])
>>> z.backward()
>>> x.grad
array([0.68817103, 2.72752975])
>>> y.grad
array([1.75157969, 0.        ])""",
    "j0": """\
>>> x = tg.tensor([1.6, 4.5])
>>> y = tg.special.j0(x)
>>> y
Tensor([ 0.45540217, -0.32054251])
>>> y.backward()
>>> x.grad
array([-0.56989594,  0.23106043])""",
    "j1": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.j1(x)
>>> y
Tensor([-0.57672481,  0.57672481])
>>> y.backward()
>>> x.grad
array([-0.06447162, -0.06447162])""",
    "y0": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.y0(x)
>>> y
Tensor([0.1621632 , 0.37685001])
>>> y.backward()
>>> x.grad
array([ 0.69811956, -0.32467442])""",
    "y1": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.y1(x)
>>> y
Tensor([-0.69811956,  0.32467442])
>>> y.backward()
>>> x.grad
array([0.79681735, 0.2686252 ])""",
    "i0": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.i0(x)
>>> y
Tensor([2.2795853, 2.2795853])
>>> y.backward()
>>> x.grad
array([-1.59063685,  1.59063685])""",
    "i1": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.i1(x)
>>> y
Tensor([-1.59063685,  1.59063685])
>>> y.backward()
>>> x.grad
array([1.48426688, 1.48426688])""",
    "k0": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.k0(x)
>>> y
Tensor([0.36560239, 0.0347395 ])
>>> y.backward()
>>> x.grad
array([-0.50976003, -0.04015643])""",
    "k1": """\
>>> x = tg.tensor([1.1, 3.0])
>>> y = tg.special.k1(x)
>>> y
Tensor([0.50976003, 0.04015643])
>>> y.backward()
>>> x.grad
array([-0.8290206 , -0.04812498])""",
    "i0e": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.i0e(x)
>>> y
Tensor([0.30850832, 0.30850832])
>>> y.backward()
>>> x.grad
array([ 0.09323903, -0.09323903])""",
    "i1e": """\
>>> x = tg.tensor([-2.0, 2.0])
>>> y = tg.special.i1e(x)
>>> y
Tensor([-0.21526929,  0.21526929])
>>> y.backward()
>>> x.grad
array([-0.01439561, -0.01439561])""",
    "jv": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.jv(v, x)
>>> y
Tensor([0.51159186, 0.41919036])
>>> y.backward()
>>> x.grad
array([0.17799532, 0.09679226])""",
    "yv": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.yv(v, x)
>>> y
Tensor([-0.46604611, -0.28896176])
>>> y.backward()
>>> x.grad
array([0.61559488, 0.36718903])""",
    "iv": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.iv(v, x)
>>> y
Tensor([0.91765473, 2.157788  ])
>>> y.backward()
>>> x.grad
array([0.99525784, 2.58861187])""",
    "ive": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.ive(v, x)
>>> y
Tensor([0.18527129, 0.06515955])
>>> y.backward()
>>> x.grad
array([0.0156678 , 0.01300975])""",
    "jve": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.jve(v, z)
>>> y
Tensor([0.51159186, 0.41919036])
>>> y.backward()
>>> z.grad
array([0.17799532, 0.09679226])""",
    "yve": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.yve(v, z)
>>> y
Tensor([-0.46604611, -0.28896176])
>>> y.backward()
>>> z.grad
array([0.61559488, 0.36718903])""",
    "hankel1": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.hankel1(v, z)
>>> y
Tensor([0.51159186-0.46604611j, 0.41919036-0.28896176j], dtype=complex128)
>>> y.real.backward()
>>> z.grad
array([0.17799532, 0.09679226])""",
    "hankel2": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.hankel2(v, z)
>>> y
Tensor([0.51159186+0.46604611j, 0.41919036+0.28896176j], dtype=complex128)
>>> y.real.backward()
>>> z.grad
array([0.17799532, 0.09679226])""",
    "hankel1e": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.hankel1e(v, z)
>>> y
Tensor([-0.48078563-0.4977654j , -0.29119067+0.41764512j], dtype=complex128)
>>> y.real.backward()
>>> z.grad
array([0.11236962, 0.1981996 ])""",
    "hankel2e": """\
>>> v = [1.2, 2.8]
>>> z = tg.tensor([1.6, 3.5])
>>> y = tg.special.hankel2e(v, z)
>>> y
Tensor([-0.48078563+0.4977654j , -0.29119067-0.41764512j], dtype=complex128)
>>> y.real.backward()
>>> z.grad
array([0.11236962, 0.1981996 ])""",
    "kv": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.kv(v, x)
>>> y
Tensor([0.26776895, 0.05150708])
>>> y.backward()
>>> x.grad
array([-0.39067074, -0.07061975])""",
    "kve": """\
>>> v = [1.2, 2.8]
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.kve(v, x)
>>> y
Tensor([1.32626829, 1.70568024])
>>> y.backward()
>>> x.grad
array([-0.60873656, -0.63292466])""",
    "hyp0f1": """\
>>> v = [1.1, 3.0]
>>> z = tg.tensor([-1.0, 3.0])
>>> y = tg.special.hyp0f1(v, z)
>>> y
Tensor([0.28545009, 2.46023128])
>>> y.backward()
>>> z.grad
array([0.54060584, 0.67227889])""",
    "ellipk": """\
>>> x = tg.tensor([-2.8, -0.3])
>>> y = tg.special.ellipk(x)
>>> y
Tensor([1.09450295, 1.46949172])
>>> y.backward()
>>> x.grad
array([0.0837542 , 0.29185411])""",
    "ellipe": """\
>>> x = tg.tensor([-2.8, -0.3])
>>> y = tg.special.ellipe(x)
>>> y
Tensor([2.37682172, 1.68269304])
>>> y.backward()
>>> x.grad
array([-0.2289855 , -0.35533552])""",
    "gammainc": """\
>>> a = tg.tensor([1.1, 3.0])
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.gammainc(a, x)
>>> y
Tensor([0.76772816, 0.6791528 ])
>>> y.backward()
>>> a.grad
array([-0.30936985, -0.21098436])
>>> x.grad
array([0.22243348, 0.18495897])""",
    "gammaincc": """\
>>> a = tg.tensor([1.1, 3.0])
>>> x = tg.tensor([1.6, 3.5])
>>> y = tg.special.gammaincc(a, x)
>>> y
Tensor([0.23227184, 0.3208472 ])
>>> y.backward()
>>> a.grad
array([0.30936985, 0.21098436])
>>> x.grad
array([-0.22243348, -0.18495897])""",
    "gammaincinv": """\
>>> a = tg.tensor([1.1, 3.0])
>>> y = tg.tensor([0.4, 0.8])
>>> z = tg.special.gammaincinv(a, y)
>>> z
Tensor([0.5932975 , 4.27902986])
>>> z.backward()
>>> a.grad
array([0.83197672, 1.25592228])
>>> y.grad
array([1.81417531, 7.88312508])""",
    "gammainccinv": """\
>>> a = tg.tensor([1.1, 3.0])
>>> y = tg.tensor([0.4, 0.8])
>>> z = tg.special.gammainccinv(a, y)
>>> z
Tensor([1.02833712, 1.5350442 ])
>>> z.backward()
>>> a.grad
array([1.11872986, 0.74105122])
>>> y.grad
array([-2.65294508, -3.93957571])""",
    "betainc": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> x = tg.tensor([0.5, 0.9])
>>> y = tg.special.betainc(a, b, x)
>>> y
Tensor([0.63942221, 0.99667052])
>>> y.backward()
>>> a.grad
array([-0.30262888, -0.00262934])
>>> b.grad
array([0.23714948, 0.00635724])
>>> x.grad
array([1.11860429, 0.11094258])""",
    "betaincc": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> x = tg.tensor([0.5, 0.9])
>>> y = tg.special.betaincc(a, b, x)
>>> y
Tensor([0.36057779, 0.00332948])
>>> y.backward()
>>> a.grad
array([0.30262888, 0.00262934])
>>> b.grad
array([-0.23714948, -0.00635724])
>>> x.grad
array([-1.11860429, -0.11094258])""",
    "betaincinv": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> y = tg.tensor([0.5, 0.9])
>>> z = tg.special.betaincinv(a, b, y)
>>> z
Tensor([0.38184542, 0.70789949])
>>> z.backward()
>>> a.grad
array([0.28940954, 0.0618649 ])
>>> b.grad
array([-0.18171559, -0.08645314])
>>> y.grad
array([0.80864054, 0.99910873])""",
    "betainccinv": """\
>>> a = tg.tensor([1.1, 3.0])
>>> b = tg.tensor([1.6, 3.5])
>>> y = tg.tensor([0.5, 0.9])
>>> z = tg.special.betainccinv(a, b, y)
>>> z
Tensor([0.38184542, 0.22139245])
>>> z.backward()
>>> a.grad
array([0.28940954, 0.08930379])
>>> b.grad
array([-0.18171559, -0.04522172])
>>> y.grad
array([-0.80864054, -0.88057148])""",
    "stdtr": """\
>>> df = tg.tensor([2.7, 6.9])
>>> t = tg.tensor([-1.0, 3.0])
>>> y = tg.special.stdtr(df, t)
>>> y
Tensor([0.19916217, 0.98985737])
>>> y.backward()
>>> df.grad
array([-0.01340318,  0.00174578])
>>> t.grad
array([0.20340145, 0.01422865])""",
    "stdtrit": """\
>>> df = tg.tensor([2.7, 6.9])
>>> p = tg.tensor([0.4, 0.8])
>>> y = tg.special.stdtrit(df, p)
>>> y
Tensor([-0.27932846,  0.89686385])
>>> y.backward()
>>> df.grad
array([ 0.00985672, -0.00846969])
>>> p.grad
array([2.89324008, 4.01724263])""",
    "less": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.less(x1, x2)
array([ True, False, False])""",
    "less_equal": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.less_equal(x1, x2)
array([ True,  True, False])""",
    "greater": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.greater(x1, x2)
array([False, False,  True])""",
    "greater_equal": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.greater_equal(x1, x2)
array([False,  True,  True])""",
    "equal": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.equal(x1, x2)
array([False,  True, False])""",
    "not_equal": """\
>>> x1 = tg.tensor([1.0, 2.0, 3.0])
>>> x2 = tg.tensor([2.0, 2.0, 2.0])
>>> tg.not_equal(x1, x2)
array([ True, False,  True])""",
    "isnan": """\
>>> x = tg.tensor([1.0, tg.inf, tg.nan])
>>> tg.isnan(x)
array([False, False,  True])""",
    "isinf": """\
>>> x = tg.tensor([1.0, tg.inf, tg.nan])
>>> tg.isinf(x)
array([False,  True, False])""",
    "isfinite": """\
>>> x = tg.tensor([1.0, tg.inf, tg.nan])
>>> tg.isfinite(x)
array([ True, False, False])""",
}
