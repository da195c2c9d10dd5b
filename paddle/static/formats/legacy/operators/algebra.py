"""Products, decompositions and spectra."""

from paddle.static.formats.legacy.table import rows

rows("""
addmm: addmm(Input, X, Y; alpha=Alpha~1.0 beta=Beta~1.0) -> Out
baddbmm: baddbmm(Input, X, Y; alpha=Alpha~1.0 beta=Beta~1.0) -> Out
bmm: bmm(X, Y) -> Out
cholesky: cholesky(X; upper~False) -> Out
cholesky_solve: cholesky_solve(X, Y; upper~False) -> Out
cross: cross(X, Y; axis=dim~9) -> Out
determinant: det(Input) -> Out
dot: dot(X, Y) -> Out
eig: eig(X) -> Eigenvalues Eigenvectors
eigh: eigh(X; UPLO~"L") -> Eigenvalues Eigenvectors
eigvals: eigvals(X) -> Out
eigvalsh: eigvalsh(X; is_test~False uplo=UPLO~"L") -> Eigenvalues Eigenvectors
einsum: einsum(Operands*; equation) -> Out _ _
fft_c2c: fft_c2c(X; forward normalization axes) -> Out
fft_c2r: fft_c2r(X; last_dim_size~0 forward normalization axes) -> Out
fft_r2c: fft_r2c(X; onesided forward normalization axes) -> Out
inverse: inverse(Input) -> Output
kron: kron(X, Y) -> Out
lstsq: lstsq(X, Y, @rcond~0.0; driver~"gels") -> Solution Residuals Rank SingularValues
lu: lu(X; pivot=pivots~True) -> Out Pivots Infos
lu_unpack: lu_unpack(X, Pivots; unpack_pivots~True unpack_ludata~True) -> Pmat L U
matmul_v2: matmul(X, Y; transpose_y=trans_y~False transpose_x=trans_x~False) -> Out
matrix_power: matrix_power(X; n) -> Out
multi_dot: multi_dot(X*) -> Out
mv: mv(X, Vec) -> Out
qr: qr(X; mode~"reduced") -> Q R
slogdeterminant: slogdet(Input) -> Out
solve: solve(X, Y) -> Out
stft: stft(X, Window; onesided normalized hop_length n_fft) -> Out
svd: svd(X; full_matrices~False) -> U S VH
svdvals: svdvals(x) -> s
triangular_solve: triangular_solve(X, Y; unitriangular~False transpose~False upper~True) -> Out
""")
