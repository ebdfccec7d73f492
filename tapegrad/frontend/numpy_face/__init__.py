"""NumPy's protocols: ``np.sin(t)``, the array API, and the table of what is covered.

In reading order; each imports only those above it:

    array_api                      what the array API standard asks for and NumPy's functions are not
    numpy_reexports                what NumPy itself does here: types, settings, indices, files
    numpy_protocols                ``np.sin(t)``
    coverage                       what every public function of NumPy's does with a Tensor
"""
